# The one function of C's library that a network needs: an instruction here. Made by Tandem.
    .section .text.memcpy,"",@
    .globl memcpy
    .type memcpy,@function
memcpy:
    .functype memcpy (i32, i32, i32) -> (i32)
    local.get 0
    local.get 1
    local.get 2
    memory.copy 0, 0
    local.get 0
    end_function
