; fuzz: - three words, of which the size of the type is no multiple
define weak i129 @callee(i129 %a) comdat { ret i129 %a }
$callee = comdat any
