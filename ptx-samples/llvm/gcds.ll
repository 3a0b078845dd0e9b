; Binary greatest common divisors: every lane leaves the loop at its own round. Written by hand, with what LLVM has and
; PTX has not: phi, select of aggregates' parts, a switch, poison-free shifts by cttz.
; SPDX-License-Identifier: MIT
target triple = "nvptx64-nvidia-cuda"

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i64 @llvm.cttz.i64(i64, i1)
declare i64 @llvm.umin.i64(i64, i64)

define internal i64 @odd_part(i64 %v) {
  %zeros = call i64 @llvm.cttz.i64(i64 %v, i1 true)
  %odd = lshr i64 %v, %zeros
  ret i64 %odd
}

define void @gcds(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %out, ptr addrspace(1) %rounds, i32 %n) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %size = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %first = mul i32 %block, %size
  %i = add i32 %first, %tid
  %inside = icmp slt i32 %i, %n
  br i1 %inside, label %load, label %done

load:
  %wide = sext i32 %i to i64
  %pa = getelementptr i64, ptr addrspace(1) %a, i64 %wide
  %pb = getelementptr i64, ptr addrspace(1) %b, i64 %wide
  %x = load i64, ptr addrspace(1) %pa
  %y = load i64, ptr addrspace(1) %pb
  %x.zero = icmp eq i64 %x, 0
  %y.zero = icmp eq i64 %y, 0
  %x.bit = zext i1 %x.zero to i32
  %y.bit = select i1 %y.zero, i32 2, i32 0
  %which = or i32 %x.bit, %y.bit
  switch i32 %which, label %store [ i32 0, label %both
                                    i32 1, label %only.y
                                    i32 2, label %only.x ]

only.y:
  br label %store

only.x:
  br label %store

both:
  %x.twos = call i64 @llvm.cttz.i64(i64 %x, i1 true)
  %y.twos = call i64 @llvm.cttz.i64(i64 %y, i1 true)
  %twos = call i64 @llvm.umin.i64(i64 %x.twos, i64 %y.twos)
  %x.odd = call i64 @odd_part(i64 %x)
  %y.odd = call i64 @odd_part(i64 %y)
  br label %loop

loop:
  %u = phi i64 [ %x.odd, %both ], [ %less, %step ]
  %v = phi i64 [ %y.odd, %both ], [ %rest, %step ]
  %round = phi i32 [ 0, %both ], [ %next, %step ]
  %same = icmp eq i64 %u, %v
  br i1 %same, label %found, label %step

step:
  %order = icmp ult i64 %u, %v
  %less = select i1 %order, i64 %u, i64 %v
  %more = select i1 %order, i64 %v, i64 %u
  %difference = sub nuw i64 %more, %less
  %rest = call i64 @odd_part(i64 %difference)
  %next = add nuw nsw i32 %round, 1
  br label %loop

found:
  %gcd = shl i64 %u, %twos
  br label %store

store:
  %result = phi i64 [ %gcd, %found ], [ %y, %only.y ], [ %x, %only.x ], [ 0, %load ]
  %count = phi i32 [ %round, %found ], [ 0, %only.y ], [ 0, %only.x ], [ -1, %load ]
  %po = getelementptr i64, ptr addrspace(1) %out, i64 %wide
  %pr = getelementptr i32, ptr addrspace(1) %rounds, i64 %wide
  store i64 %result, ptr addrspace(1) %po
  store i32 %count, ptr addrspace(1) %pr
  br label %done

done:
  ret void
}

!nvvm.annotations = !{!0}
!0 = !{ptr @gcds, !"kernel", i32 1}
