// Tracy for bench_peers: a zone, its client connected to a reader that throws away what it gets. ZONE_OF_C:
// by the functions for C, not by the class for C++, whose parts are inline.
#include <arpa/inet.h>
#include <csignal>
#include <cstdint>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/TracyProtocol.hpp"
#include "tracy/Tracy.hpp"
#include "tracy/TracyC.h"

#include "tests/bench/peer.h"

static void run()
{
    for (int i = 0; i < PEER_COUNT; i++) {
#ifdef ZONE_OF_C
        TracyCZoneN(zone, "forward", 1);
        TracyCZoneEnd(zone);
#else
        ZoneScopedN("forward");
#endif
    }
}

// Reads what the client sends to its end; the client waits for a server's questions, but needs none.
static void drain(uint16_t port)
{
    static char buffer[1 << 20];
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (int tries = 0; tries < 200; tries++, usleep(20000)) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(fd, reinterpret_cast<sockaddr *>(&to), sizeof to) == 0) {
            uint32_t version = tracy::ProtocolVersion;
            if (write(fd, tracy::HandshakeShibboleth, tracy::HandshakeShibbolethSize) < 0 ||
                write(fd, &version, sizeof version) < 0)
                _exit(1);
            while (read(fd, buffer, sizeof buffer) > 0)
                ;
            _exit(0);
        }
        close(fd);
    }
    _exit(1);
}

int main(int argc, char **argv)
{
    if (argc < 2) { // the client reads its port before main()
        char port[16];
        snprintf(port, sizeof port, "%d", 20000 + getpid() % 20000);
        setenv("TRACY_PORT", port, 1);
        execl("/proc/self/exe", argv[0], "traced", nullptr);
        return 1;
    }
    const char *port = getenv("TRACY_PORT");
    pid_t reader = fork();
    if (reader == 0) drain(static_cast<uint16_t>(atoi(port)));
    for (int tries = 0; tries < 200 && !tracy::GetProfiler().IsConnected(); tries++)
        usleep(20000);
    bool connected = tracy::GetProfiler().IsConnected();
    if (connected) peer_report(run);
    kill(reader, SIGKILL);
    waitpid(reader, nullptr, 0);
    _exit(connected ? 0 : 1); // not through the client's farewell, which waits for a server
}
