/* Reaches the driver by its own link with -lcuda. */
#include "families.h"

int main(void)
{
    return families_run(NULL);
}
