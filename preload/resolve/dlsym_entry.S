/* dlsym(handle, name) as programs see it. A name that is not in the tables goes on to the real dlsym (or that of
 * another tool behind us) by a jump, with the caller's return address still in place: the real one asks that address who is calling, and answers
 * RTLD_NEXT accordingly. (A call from here would make RTLD_NEXT start behind this library: another library
 * that wraps dlsym would then find itself, without end.)
 *
 * All names in the tables begin with "cu" and a capital: everything else (cudnnCreate, cublasCreate_v2) costs a
 * comparison or a few. No byte behind the end of the name is read. RTLD_NEXT (all ones) goes on too: what lies behind the caller is for the real one to say. */

/* dlopen(file, flags) goes on to the real one by a jump likewise (its search path and namespace are the
 * caller's), after deepbind.c has been told of an object that is to be opened with RTLD_DEEPBIND. */
#define DEEPBIND 8

/* Both are exported under libc's versions of them: so that a library that wraps them too and asks dlvsym for the
 * next one by version comes here and not past us. `first`: the version that the machine's libc began with. */
        .macro  exported name, first
        .globl  resolve_\name\()_entry, \name\()_first, \name\()_later
        .hidden resolve_\name\()_entry
        .set    \name\()_first, resolve_\name\()_entry
        .set    \name\()_later, resolve_\name\()_entry
        .symver \name\()_first, \name\()@GLIBC_\first, remove
        .symver \name\()_later, \name\()@@GLIBC_2.34, remove
        .endm

#if defined(__x86_64__)
        .text
        exported dlsym, 2.2.5
        .type   resolve_dlsym_entry, @function
        .p2align 4
resolve_dlsym_entry:
        .cfi_startproc
        endbr64
        cmpl    $0, resolve_watching(%rip)
        jne     .Lwatching
.Lnamed:
        testq   %rsi, %rsi
        je      .Lforeign
        cmpb    $'c', (%rsi)
        jne     .Lforeign
        cmpb    $'u', 1(%rsi)
        jne     .Lforeign
        movzbl  2(%rsi), %eax
        subl    $'A', %eax
        cmpl    $'Z' - 'A', %eax
        ja      .Lforeign
        cmpq    $-1, %rdi
        jne     .Lcandidate
.Lforeign:
        movq    resolve_dlsym_next(%rip), %rax
        testq   %rax, %rax
        je      .Lfind
        jmp     *%rax
.Lcandidate:
        pushq   %rdi
        .cfi_adjust_cfa_offset 8
        pushq   %rsi
        .cfi_adjust_cfa_offset 8
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        movq    %rsi, %rdi
        call    resolve_is_ours
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        popq    %rsi
        .cfi_adjust_cfa_offset -8
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        testl   %eax, %eax
        je      .Lforeign
        jmp     resolve_dlsym_ours
.Lwatching:
        pushq   %rdi
        .cfi_adjust_cfa_offset 8
        pushq   %rsi
        .cfi_adjust_cfa_offset 8
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    resolve_new_objects
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        popq    %rsi
        .cfi_adjust_cfa_offset -8
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        jmp     .Lnamed
.Lfind:
        pushq   %rdi
        .cfi_adjust_cfa_offset 8
        pushq   %rsi
        .cfi_adjust_cfa_offset 8
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    resolve_next_dlsym
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        popq    %rsi
        .cfi_adjust_cfa_offset -8
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        jmp     *%rax
        .cfi_endproc
        .size   resolve_dlsym_entry, .-resolve_dlsym_entry

        exported dlopen, 2.2.5
        .type   resolve_dlopen_entry, @function
        .p2align 4
resolve_dlopen_entry:
        .cfi_startproc
        endbr64
        testl   $DEEPBIND, %esi
        jne     .Lnote
        movq    resolve_dlopen_real(%rip), %rax
        testq   %rax, %rax
        je      .Lnote
        jmp     *%rax
.Lnote:
        pushq   %rdi
        .cfi_adjust_cfa_offset 8
        pushq   %rsi
        .cfi_adjust_cfa_offset 8
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        movl    %esi, %edi
        call    resolve_dlopen
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        popq    %rsi
        .cfi_adjust_cfa_offset -8
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        jmp     *%rax
        .cfi_endproc
        .size   resolve_dlopen_entry, .-resolve_dlopen_entry

#elif defined(__aarch64__)
        .text
        exported dlsym, 2.17
        .type   resolve_dlsym_entry, %function
        .p2align 4
resolve_dlsym_entry:
        .cfi_startproc
        hint    #34                     /* bti c */
        adrp    x9, resolve_watching
        ldr     w9, [x9, #:lo12:resolve_watching]
        cbnz    w9, .Lwatching
.Lnamed:
        cbz     x1, .Lforeign
        ldrb    w9, [x1]
        cmp     w9, #'c'
        b.ne    .Lforeign
        ldrb    w9, [x1, #1]
        cmp     w9, #'u'
        b.ne    .Lforeign
        ldrb    w9, [x1, #2]
        sub     w9, w9, #'A'
        cmp     w9, #'Z' - 'A'
        b.hi    .Lforeign
        cmn     x0, #1
        b.ne    .Lcandidate
.Lforeign:
        adrp    x16, resolve_dlsym_next
        ldr     x16, [x16, #:lo12:resolve_dlsym_next]
        cbz     x16, .Lfind
        br      x16
.Lcandidate:
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        stp     x0, x1, [sp, #16]
        mov     x0, x1
        bl      resolve_is_ours
        mov     w9, w0
        ldp     x0, x1, [sp, #16]
        ldp     x29, x30, [sp], #32
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        cbz     w9, .Lforeign
        b       resolve_dlsym_ours
.Lwatching:
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        stp     x0, x1, [sp, #16]
        bl      resolve_new_objects
        ldp     x0, x1, [sp, #16]
        ldp     x29, x30, [sp], #32
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        b       .Lnamed
.Lfind:
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        stp     x0, x1, [sp, #16]
        bl      resolve_next_dlsym
        mov     x16, x0
        ldp     x0, x1, [sp, #16]
        ldp     x29, x30, [sp], #32
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        br      x16
        .cfi_endproc
        .size   resolve_dlsym_entry, .-resolve_dlsym_entry

        exported dlopen, 2.17
        .type   resolve_dlopen_entry, %function
        .p2align 4
resolve_dlopen_entry:
        .cfi_startproc
        hint    #34                     /* bti c */
        tst     w1, #DEEPBIND
        b.ne    .Lnote
        adrp    x16, resolve_dlopen_real
        ldr     x16, [x16, #:lo12:resolve_dlopen_real]
        cbz     x16, .Lnote
        br      x16
.Lnote:
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        stp     x0, x1, [sp, #16]
        mov     w0, w1
        bl      resolve_dlopen
        mov     x16, x0
        ldp     x0, x1, [sp, #16]
        ldp     x29, x30, [sp], #32
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        br      x16
        .cfi_endproc
        .size   resolve_dlopen_entry, .-resolve_dlopen_entry
#else
#error "dlsym.S: no code for this machine"
#endif
        .section .note.GNU-stack, "", %progbits
