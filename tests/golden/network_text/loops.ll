define internal i64 @enter(ptr %state, i64 %begin, ptr %first, ptr %second) {
entry:
  %next.at = getelementptr i8, ptr %state, i64 72
  %spare.at = getelementptr i8, ptr %state, i64 80
  br label %again
again:
  %number = phi i64 [ %begin, %entry ], [ %following, %on ]
  %frame = phi ptr [ %first, %entry ], [ %frame.next, %on ]
  %spare = phi ptr [ %second, %entry ], [ %spare.next, %on ]
  %stops = call i64 @breathe(ptr %state)
  %goes = icmp eq i64 %stops, 0
  br i1 %goes, label %run, label %stop
run:
  switch i64 %number, label %f0 [ i64 1, label %f1 i64 2, label %f2 ]
f0:
  %r0 = call i64 @f0(ptr %state, ptr %frame, ptr %spare)
  br label %ended
f1:
  %r1 = call i64 @f1(ptr %state, ptr %frame, ptr %spare)
  br label %ended
f2:
  %r2 = call i64 @f2(ptr %state, ptr %frame, ptr %spare)
  br label %ended
ended:
  %status = phi i64 [ %r0, %f0 ], [ %r1, %f1 ], [ %r2, %f2 ]
  %over = icmp ult i64 %status, 2
  br i1 %over, label %end, label %on
on:
  %following = sub i64 %status, 2
  %frame.next = load ptr, ptr %next.at
  %spare.next = load ptr, ptr %spare.at
  br label %again
stop:
  ret i64 1
end:
  ret i64 %status
}

define internal i64 @f0(ptr %state, ptr %given, ptr %given.spare) {
entry:
  %slots.at = getelementptr i8, ptr %state, i64 0
  %slots = load ptr, ptr %slots.at
  %workspace.at = getelementptr i8, ptr %state, i64 8
  %workspace = load ptr, ptr %workspace.at
  %launch.at = getelementptr i8, ptr %state, i64 16
  %launch = load ptr, ptr %launch.at
  %frames.at = getelementptr i8, ptr %state, i64 24
  %frames = load ptr, ptr %frames.at
  %results.at = getelementptr i8, ptr %state, i64 88
  %results = load ptr, ptr %results.at
  %waiting.at = getelementptr i8, ptr %state, i64 96
  %place = alloca ptr
  store ptr %given, ptr %place
  %spare = alloca ptr
  store ptr %given.spare, ptr %spare
  br label %i0
i0:
  %frame0 = load ptr, ptr %place
  %v1 = getelementptr i8, ptr %frame0, i64 0
  %v2 = getelementptr ptr, ptr %slots, i64 4
  %v3 = load ptr, ptr %v2
  %v4 = getelementptr ptr, ptr %slots, i64 6
  %v5 = load ptr, ptr %v4
  call void %v5(ptr %v1, ptr %v3, ptr %workspace, ptr %launch)
  %stopped0 = call i64 @after(ptr %state, i64 0)
  %stopped0.goes = icmp eq i64 %stopped0, 0
  br i1 %stopped0.goes, label %i1, label %stop
i1:
  %frame1 = load ptr, ptr %place
  %v6 = getelementptr i8, ptr %frame1, i64 40
  %v7 = load i64, ptr %v6
  %v8 = icmp ult i64 %v7, 2
  br i1 %v8, label %row1, label %i2
row1:
  %v9 = mul i64 %v7, 12
  %v10 = getelementptr i8, ptr %frame1, i64 16
  %v11 = getelementptr i8, ptr %v10, i64 %v9
  %v12 = getelementptr i8, ptr %frame1, i64 0
  call void @llvm.memcpy.p0.p0.i64(ptr %v11, ptr %v12, i64 12, i1 false)
  br label %i2
i2:
  %frame2 = load ptr, ptr %place
  %v13 = getelementptr i8, ptr %frame2, i64 48
  %bool2 = load i8, ptr %v13
  %holds2 = icmp ne i8 %bool2, 0
  br i1 %holds2, label %i3, label %i4
i3:
  %frame3 = load ptr, ptr %place
  %breath3 = call i64 @breathe(ptr %state)
  %breath3.goes = icmp eq i64 %breath3, 0
  br i1 %breath3.goes, label %on3, label %stop
on3:
  br label %i0
i4:
  %frame4 = load ptr, ptr %place
  %v14 = getelementptr i8, ptr %frames, i64 64
  %v15 = getelementptr i8, ptr %v14, i64 0
  %v16 = getelementptr i8, ptr %frame4, i64 0
  call void @llvm.memcpy.p0.p0.i64(ptr %v15, ptr %v16, i64 12, i1 false)
  %status4 = call i64 @enter(ptr %state, i64 1, ptr %v14, ptr null)
  %status4.goes = icmp eq i64 %status4, 0
  br i1 %status4.goes, label %back4, label %stop
back4:
  %v17 = getelementptr ptr, ptr %results, i64 0
  %v18 = load ptr, ptr %v17
  %v19 = getelementptr ptr, ptr %slots, i64 5
  %v20 = load ptr, ptr %v19
  call void @llvm.memcpy.p0.p0.i64(ptr %v20, ptr %v18, i64 12, i1 false)
  br label %i5
i5:
  %frame5 = load ptr, ptr %place
  ret i64 0
stop:
  ret i64 1
}

define internal i64 @f1(ptr %state, ptr %given, ptr %given.spare) {
entry:
  %slots.at = getelementptr i8, ptr %state, i64 0
  %slots = load ptr, ptr %slots.at
  %workspace.at = getelementptr i8, ptr %state, i64 8
  %workspace = load ptr, ptr %workspace.at
  %launch.at = getelementptr i8, ptr %state, i64 16
  %launch = load ptr, ptr %launch.at
  %frames.at = getelementptr i8, ptr %state, i64 24
  %frames = load ptr, ptr %frames.at
  %results.at = getelementptr i8, ptr %state, i64 88
  %results = load ptr, ptr %results.at
  %waiting.at = getelementptr i8, ptr %state, i64 96
  %place = alloca ptr
  store ptr %given, ptr %place
  %spare = alloca ptr
  store ptr %given.spare, ptr %spare
  br label %i0
i0:
  %frame0 = load ptr, ptr %place
  %v1 = getelementptr i8, ptr %frame0, i64 16
  %bool0 = load i8, ptr %v1
  %holds0 = icmp ne i8 %bool0, 0
  br i1 %holds0, label %i1, label %i3
i1:
  %frame1 = load ptr, ptr %place
  br label %i2
i2:
  %frame2 = load ptr, ptr %place
  %v2 = getelementptr i8, ptr %frames, i64 64
  %v3 = getelementptr i8, ptr %frames, i64 128
  %v4 = icmp eq ptr %frame2, %v2
  %v5 = select i1 %v4, ptr %v3, ptr %v2
  %v6 = getelementptr i8, ptr %v5, i64 0
  %v7 = getelementptr i8, ptr %frame2, i64 0
  call void @llvm.memcpy.p0.p0.i64(ptr %v6, ptr %v7, i64 12, i1 false)
  store ptr %v5, ptr %place
  store ptr %frame2, ptr %spare
  %breath2 = call i64 @breathe(ptr %state)
  %breath2.goes = icmp eq i64 %breath2, 0
  br i1 %breath2.goes, label %on2, label %stop
on2:
  br label %i0
i3:
  %frame3 = load ptr, ptr %place
  %v8 = getelementptr i8, ptr %frames, i64 192
  %v9 = getelementptr i8, ptr %v8, i64 8
  %v10 = getelementptr i8, ptr %frame3, i64 0
  call void @llvm.memcpy.p0.p0.i64(ptr %v9, ptr %v10, i64 12, i1 false)
  %v11 = getelementptr i8, ptr %state, i64 72
  store ptr %v8, ptr %v11
  %v12 = getelementptr i8, ptr %state, i64 80
  store ptr %frame3, ptr %v12
  ret i64 4
stop:
  ret i64 1
}

define internal i64 @f2(ptr %state, ptr %given, ptr %given.spare) {
entry:
  %slots.at = getelementptr i8, ptr %state, i64 0
  %slots = load ptr, ptr %slots.at
  %workspace.at = getelementptr i8, ptr %state, i64 8
  %workspace = load ptr, ptr %workspace.at
  %launch.at = getelementptr i8, ptr %state, i64 16
  %launch = load ptr, ptr %launch.at
  %frames.at = getelementptr i8, ptr %state, i64 24
  %frames = load ptr, ptr %frames.at
  %results.at = getelementptr i8, ptr %state, i64 88
  %results = load ptr, ptr %results.at
  %waiting.at = getelementptr i8, ptr %state, i64 96
  %place = alloca ptr
  store ptr %given, ptr %place
  %spare = alloca ptr
  store ptr %given.spare, ptr %spare
  br label %i0
i0:
  %frame0 = load ptr, ptr %place
  %v1 = getelementptr i8, ptr %frame0, i64 8
  %v2 = getelementptr ptr, ptr %results, i64 0
  store ptr %v1, ptr %v2
  ret i64 0
stop:
  ret i64 1
}
