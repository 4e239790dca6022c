/* An auditor of the dynamic loader (LD_AUDIT) that watches every binding of a function to another object, so
 * that calls go through the loader's audited linkage tables. */
#include <link.h>
#include <stddef.h>

unsigned la_version(unsigned version);
unsigned la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie);
uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned number, uintptr_t *from, uintptr_t *to, unsigned *flags,
                       const char *name);

unsigned la_version(unsigned version)
{
    return version < LAV_CURRENT ? version : LAV_CURRENT;
}

unsigned la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie)
{
    (void)map, (void)space, (void)cookie;
    return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}

uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned number, uintptr_t *from, uintptr_t *to, unsigned *flags,
                       const char *name)
{
    (void)number, (void)from, (void)to, (void)name;
    *flags = 0; /* also what dlsym finds (LA_SYMB_DLSYM) */
    return symbol->st_value;
}
