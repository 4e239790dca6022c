/* Numbers of descriptors in a program that counts on the lowest free one. */
#ifndef CGTRACE_COMMON_DESCRIPTOR_H
#define CGTRACE_COMMON_DESCRIPTOR_H

/* The same at a high number, when there is one, with FD_CLOEXEC; fd is closed then. Else fd. Changes errno.
 */
int descriptor_raise(int fd);

#endif
