; fuzz:
define i64 @left(i64 %a) {
  %x = shl i64 %a, -1
  ret i64 %x
}
define i64 @far(i64 %a) {
  %x = shl i64 %a, 1000000000000000000000000000001
  ret i64 %x
}
