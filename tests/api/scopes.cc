// Spans of scopes in C++, and the rest of the API from there. Prints results as calls.c does.
#include <cstdio>
#include <stdexcept>

#include "preload/cgtrace.h"

static void leaves_early(bool early)
{
    cgtrace::span span("leaves early", CGTRACE_KIND_MODULE, CGTRACE_STEP_BACKWARD);
    if (early) return;
    cgtrace::span inner("not reached");
}

static void throws()
{
    cgtrace::span span("throws");
    throw std::runtime_error("thrown");
}

int main()
{
    cgtrace::span outer("outer");
    leaves_early(true);
    try {
        throws();
    } catch (const std::exception &) {
        cgtrace::span handler("handler");
        std::printf("scalar %d\n", cgtrace_scalar("caught", 1));
    }
    cgtrace_op_info op = cgtrace_op_info();
    op.name = "add";
    std::printf("op %d\n", cgtrace_op(&op));
    std::printf("open %d\n", outer.handle() > 0);
    return 0;
}
