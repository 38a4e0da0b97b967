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
  %v1 = call ptr @make(ptr %state, i64 1, i64 1, i64 48)
  %v2 = icmp eq ptr %v1, null
  br i1 %v2, label %stop, label %made0
made0:
  %v3 = getelementptr i8, ptr %v1, i64 16
  %v4 = getelementptr i8, ptr %frame0, i64 72
  %v5 = load ptr, ptr %v4
  call void @keep(ptr %v5)
  store ptr %v5, ptr %v3
  %v6 = getelementptr i8, ptr %v1, i64 24
  %v7 = getelementptr i8, ptr %frame0, i64 0
  call void @llvm.memcpy.p0.p0.i64(ptr %v6, ptr %v7, i64 12, i1 false)
  %v8 = getelementptr i8, ptr %frame0, i64 64
  call void @refer(ptr %state, ptr %v8, ptr %v1)
  br label %i1
i1:
  %frame1 = load ptr, ptr %place
  %v9 = getelementptr i8, ptr %frame1, i64 64
  %v10 = load ptr, ptr %v9
  %v11 = getelementptr i8, ptr %v10, i64 8
  %v12 = load i32, ptr %v11
  %v13 = icmp eq i32 %v12, 1
  br i1 %v13, label %i2, label %i4
i2:
  %frame2 = load ptr, ptr %place
  %v14 = getelementptr i8, ptr %frame2, i64 64
  %v15 = load ptr, ptr %v14
  %v16 = getelementptr i8, ptr %v15, i64 8
  %v17 = load i32, ptr %v16
  %v18 = icmp eq i32 %v17, 1
  br i1 %v18, label %read2, label %other2
other2:
  %v19 = getelementptr i8, ptr %state, i64 112
  store i64 2, ptr %v19
  %v20 = getelementptr i8, ptr %state, i64 120
  store i64 0, ptr %v20
  br label %stop
read2:
  %v21 = getelementptr i8, ptr %v15, i64 16
  %v22 = getelementptr i8, ptr %frame2, i64 72
  %v23 = load ptr, ptr %v21
  call void @keep(ptr %v23)
  call void @refer(ptr %state, ptr %v22, ptr %v23)
  %v24 = getelementptr i8, ptr %v15, i64 24
  %v25 = getelementptr i8, ptr %frame2, i64 0
  call void @llvm.memcpy.p0.p0.i64(ptr %v25, ptr %v24, i64 12, i1 false)
  br label %i3
i3:
  %frame3 = load ptr, ptr %place
  %v26 = getelementptr i8, ptr %frame3, i64 72
  %v27 = getelementptr i8, ptr %frame3, i64 64
  %v28 = load ptr, ptr %v26
  call void @keep(ptr %v28)
  call void @refer(ptr %state, ptr %v27, ptr %v28)
  br label %i4
i4:
  %frame4 = load ptr, ptr %place
  %waiting4 = load i64, ptr %waiting.at
  %many4 = icmp uge i64 %waiting4, 1000
  br i1 %many4, label %deep4, label %calls4
deep4:
  %v29 = getelementptr i8, ptr %state, i64 112
  store i64 1, ptr %v29
  %v30 = getelementptr i8, ptr %state, i64 120
  store i64 1, ptr %v30
  br label %stop
calls4:
  %v31 = add i64 %waiting4, 1
  store i64 %v31, ptr %waiting.at
  %v32 = call ptr @allocate(ptr %state, i64 3, i64 256, i64 64)
  %v33 = icmp eq ptr %v32, null
  br i1 %v33, label %stop, label %region4
region4:
  %v34 = getelementptr i8, ptr %v32, i64 128
  %v35 = getelementptr i8, ptr %v32, i64 64
  call void @llvm.memset.p0.i64(ptr %v35, i8 0, i64 8, i1 false)
  %v36 = getelementptr i8, ptr %v32, i64 64
  %v37 = getelementptr i8, ptr %frame4, i64 64
  %v38 = load ptr, ptr %v37
  call void @keep(ptr %v38)
  call void @refer(ptr %state, ptr %v36, ptr %v38)
  %status4 = call i64 @enter(ptr %state, i64 1, ptr %v32, ptr %v34)
  %status4.goes = icmp eq i64 %status4, 0
  br i1 %status4.goes, label %back4, label %stop
back4:
  %v39 = getelementptr ptr, ptr %results, i64 0
  %v40 = load ptr, ptr %v39
  %v41 = getelementptr i8, ptr %frame4, i64 72
  call void @refer(ptr %state, ptr %v41, ptr %v40)
  call void @recycle(ptr %state, i64 3, ptr %v32)
  store i64 %waiting4, ptr %waiting.at
  br label %i5
i5:
  %frame5 = load ptr, ptr %place
  %v42 = getelementptr i8, ptr %frame5, i64 64
  call void @leave(ptr %state, ptr %v42, i64 2)
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
  %waiting0 = load i64, ptr %waiting.at
  %many0 = icmp uge i64 %waiting0, 1000
  br i1 %many0, label %deep0, label %calls0
deep0:
  %v1 = getelementptr i8, ptr %state, i64 112
  store i64 1, ptr %v1
  %v2 = getelementptr i8, ptr %state, i64 120
  store i64 1, ptr %v2
  br label %stop
calls0:
  %v3 = add i64 %waiting0, 1
  store i64 %v3, ptr %waiting.at
  %v4 = call ptr @allocate(ptr %state, i64 3, i64 256, i64 64)
  %v5 = icmp eq ptr %v4, null
  br i1 %v5, label %stop, label %region0
region0:
  %v6 = getelementptr i8, ptr %v4, i64 128
  %v7 = getelementptr i8, ptr %v4, i64 64
  call void @llvm.memset.p0.i64(ptr %v7, i8 0, i64 8, i1 false)
  %v8 = getelementptr i8, ptr %v4, i64 64
  %v9 = getelementptr i8, ptr %frame0, i64 64
  %v10 = load ptr, ptr %v9
  call void @keep(ptr %v10)
  call void @refer(ptr %state, ptr %v8, ptr %v10)
  %status0 = call i64 @enter(ptr %state, i64 1, ptr %v4, ptr %v6)
  %status0.goes = icmp eq i64 %status0, 0
  br i1 %status0.goes, label %back0, label %stop
back0:
  %v11 = getelementptr ptr, ptr %results, i64 0
  %v12 = load ptr, ptr %v11
  %v13 = getelementptr i8, ptr %frame0, i64 64
  call void @refer(ptr %state, ptr %v13, ptr %v12)
  call void @recycle(ptr %state, i64 3, ptr %v4)
  store i64 %waiting0, ptr %waiting.at
  br label %i1
i1:
  %frame1 = load ptr, ptr %place
  %v14 = load ptr, ptr %spare
  %v15 = getelementptr i8, ptr %v14, i64 64
  call void @llvm.memset.p0.i64(ptr %v15, i8 0, i64 8, i1 false)
  %v16 = getelementptr i8, ptr %v14, i64 64
  %v17 = getelementptr i8, ptr %frame1, i64 64
  %v18 = load ptr, ptr %v17
  call void @keep(ptr %v18)
  call void @refer(ptr %state, ptr %v16, ptr %v18)
  %v19 = getelementptr i8, ptr %frame1, i64 64
  call void @leave(ptr %state, ptr %v19, i64 1)
  %v20 = getelementptr i8, ptr %state, i64 72
  store ptr %v14, ptr %v20
  %v21 = getelementptr i8, ptr %state, i64 80
  store ptr %frame1, ptr %v21
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
  %v1 = getelementptr i8, ptr %frame0, i64 64
  %v2 = load ptr, ptr %v1
  call void @keep(ptr %v2)
  %v3 = getelementptr ptr, ptr %results, i64 0
  store ptr %v2, ptr %v3
  %v4 = getelementptr i8, ptr %frame0, i64 64
  call void @leave(ptr %state, ptr %v4, i64 1)
  ret i64 0
stop:
  ret i64 1
}
