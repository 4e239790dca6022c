/* What the unwind tables of a program say of one address, as far as it is simple (DWARF 5, 6.4; x86-64
 * psABI 3.7). */
#ifndef CGTRACE_PRELOAD_RECORD_CFI_H
#define CGTRACE_PRELOAD_RECORD_CFI_H

#include <stdint.h>

enum cfi_kind {
    CFI_SIMPLE,  /* as below; the return address stands under the frame's end */
    CFI_END,     /* the outermost frame */
    CFI_COMPLEX, /* a signal's frame, an expression, or what is not understood here */
};
struct cfi_rule {
    uint8_t kind;
    uint8_t from_rbp; /* the frame's end is counted from rbp, else from rsp */
    uint8_t
        rbp_words; /* where the caller's rbp is saved: 8-byte words under the frame's end; 0: still in rbp */
    uint32_t end_words; /* 8-byte words from that register to the frame's end */
};

/* The rule at an address. fde: its entry in .eh_frame; begin: where its code begins. */
struct cfi_rule cfi_rule_at(const void *fde, uintptr_t begin, uintptr_t address);

#endif
