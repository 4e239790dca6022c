// Parses a file line by line with simdjson and prints the processor time that this took; reading the file is not counted.
#include <cstdio>
#include <cstring>
#include <ctime>
#include <simdjson.h>

static double processor_time()
{
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

int main(int argc, char **argv)
{
    simdjson::padded_string text;
    if (argc != 2 || simdjson::padded_string::load(argv[1]).get(text)) return 1;
    simdjson::dom::parser parser;
    simdjson::dom::element element;
    const char *at = text.data(), *end = at + text.size();
    const double begin = processor_time();
    while (at < end) {
        const char *feed = static_cast<const char *>(memchr(at, '\n', static_cast<size_t>(end - at)));
        if (feed == nullptr) feed = end;
        if (parser.parse(at, static_cast<size_t>(feed - at), false).get(element)) return 1;
        at = feed + 1;
    }
    printf("%.9f\n", processor_time() - begin);
    return 0;
}
