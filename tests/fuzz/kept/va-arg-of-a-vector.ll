; fuzz:
define i32@f(<3 x i1>%list,...){%1=va_arg<3 x i1>%list,i32ret i32%1}