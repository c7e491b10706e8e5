; fuzz:
module asm".global \22x\22 \5C;"