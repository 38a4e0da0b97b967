; ModuleID = "C"
target triple = "nvptx64-nvidia-cuda"
target datalayout = ""

define ptx_kernel void @"tandem_C"(ptr addrspace(1) noalias align 16 %".1", ptr addrspace(1) noalias align 16 %".2") nounwind
{
entry:
  br label %"start"
start:
  %".4" = call i32 @"llvm.nvvm.read.ptx.sreg.ctaid.x"()
  %".5" = zext i32 %".4" to i64
  %".6" = call i32 @"llvm.nvvm.read.ptx.sreg.tid.x"()
  %".7" = zext i32 %".6" to i64
  %".8" = getelementptr i32, ptr addrspace(1) %".1", i64 %".7"
  %".9" = load i32, ptr addrspace(1) %".8", align 4, !alias.scope !5, !noalias !6
  %".10" = getelementptr i32, ptr addrspace(3) @"tandem_C.A_near", i64 %".7"
  store i32 %".9", ptr addrspace(3) %".10", align 4, !alias.scope !9, !noalias !10
  call void @"llvm.nvvm.barrier0"()
  br label %"body"
body:
  %".14" = phi  i32 [0, %"start"], [%".39", %"body.endif"]
  %".15" = sext i32 %".14" to i64
  %".16" = mul i64 %".5", 32
  %".17" = add i64 %".16", %".7"
  %".18" = icmp slt i64 %".17", 30
  br i1 %".18", label %"body.if", label %"body.endif"
after:
  ret void
body.if:
  %".20" = icmp eq i64 %".15", 0
  br i1 %".20", label %"body.if.if", label %"body.if.endif"
body.endif:
  %".39" = add nsw i32 %".14", 1
  %".40" = icmp slt i32 %".39", 3
  br i1 %".40", label %"body", label %"after"
body.if.if:
  %".22" = mul nsw i64 %".5", 32
  %".23" = add i64 %".22", %".7"
  %".24" = getelementptr i32, ptr addrspace(1) %".2", i64 %".23"
  store i32 0, ptr addrspace(1) %".24", align 4, !alias.scope !7, !noalias !8
  br label %"body.if.endif"
body.if.endif:
  %".27" = mul nsw i64 %".5", 32
  %".28" = add i64 %".27", %".7"
  %".29" = getelementptr i32, ptr addrspace(1) %".2", i64 %".28"
  %".30" = load i32, ptr addrspace(1) %".29", align 4, !alias.scope !7, !noalias !8
  %".31" = mul nsw i64 %".5", 32
  %".32" = add i64 %".31", %".15"
  %".33" = add i64 %".32", %".7"
  %".34" = getelementptr i32, ptr addrspace(3) @"tandem_C.A_near", i64 %".33"
  %".35" = load i32, ptr addrspace(3) %".34", align 4, !alias.scope !9, !noalias !10
  %".36" = add i32 %".30", %".35"
  store i32 %".36", ptr addrspace(1) %".29", align 4, !alias.scope !7, !noalias !8
  br label %"body.endif"
}

@"tandem_C.A_near" = internal addrspace(3) global [32 x i32] undef, align 16
declare i32 @"llvm.nvvm.read.ptx.sreg.ctaid.x"()

declare i32 @"llvm.nvvm.read.ptx.sreg.tid.x"()

declare void @"llvm.nvvm.barrier0"()

!nvvm.annotations = !{ !0 }
!0 = !{ void (ptr addrspace(1), ptr addrspace(1))* @"tandem_C", !"reqntidx", i32 32 }
!1 = !{ !"tandem_C" }
!2 = !{ !"A", !1 }
!3 = !{ !"C", !1 }
!4 = !{ !"A_near", !1 }
!5 = !{ !2 }
!6 = !{ !3, !4 }
!7 = !{ !3 }
!8 = !{ !2, !4 }
!9 = !{ !4 }
!10 = !{ !2, !3 }