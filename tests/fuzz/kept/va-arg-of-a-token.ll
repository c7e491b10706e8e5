; fuzz: target=sm_100a - a type of which memory holds no values
define i32@f(ptr%list,...){va_arg ptr%list,i32%3=va_arg ptr%list,token,!tagged!0ret i32%1}!0=!{}