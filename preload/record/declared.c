#include "preload/record/declared.h"

#include <sys/mman.h>

#include "preload/record/lock.h"
#include "preload/record/ring.h"
#include "preload/unnoticed.h"

static struct capture_text declared[DECLARED_KINDS];
static size_t rooms[DECLARED_KINDS];

void declared_set(enum declared_kind kind, struct capture_text text, size_t room)
{
    struct capture_text past;
    size_t past_room;
    ERRNO_KEPT;

    lock_take(&record_page->declared_lock);
    past = declared[kind];
    past_room = rooms[kind];
    declared[kind] = text;
    rooms[kind] = room;
    lock_give(&record_page->declared_lock);
    if (past.bytes) munmap((void *)past.bytes, past_room);
}

const struct capture_text *declared_hold(void)
{
    lock_take(&record_page->declared_lock);
    return declared;
}

void declared_let_go(void)
{
    lock_give(&record_page->declared_lock);
}
