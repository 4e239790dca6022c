/* First forms. */
#include "preload/hooks/bodies.h"

#define HOOK_FAMILY "preload/hooks/v1.def"
#define HOOK(...)   HOOK_WRAPPER(__VA_ARGS__)
#include "preload/hooks/all.def"
