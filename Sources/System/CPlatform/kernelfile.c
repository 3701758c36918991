#include <sys/vfs.h>

#include "platform.h"

/* The types of file systems whose files the kernel makes as they are read (statfs(2), linux/magic.h). */
static const unsigned long kernel_types[] = {
    0x9fa0,     /* proc */
    0x62656572, /* sysfs */
    0x64626720, /* debugfs */
    0x74726163, /* tracefs */
    0x73636673, /* securityfs */
    0xf97cff8c, /* selinux */
    0x43415d53, /* smack */
    0x5a3c69f0, /* apparmor */
    0x0027e0eb, /* cgroup */
    0x63677270, /* cgroup2 */
    0x07655821, /* resctrl */
    0x62656570, /* configfs */
    0xcafe4a11, /* bpf */
    0x6165676c, /* pstore */
    0xde5e81e4, /* efivarfs */
    0x65735543, /* fusectl */
    0x42494e4d, /* binfmt_misc */
    0x1cd1,     /* devpts */
    0x19800202, /* mqueue */
    0x6e736673, /* nsfs */
    0x0187,     /* autofs */
    0x67596969, /* rpc_pipefs */
    0x6e667364, /* nfsd */
    0xabba1974, /* xenfs */
    0x9fa2,     /* usbdevfs */
    0x09041934, /* files without a file system, as of eventfd(2) */
    0x50495045, /* pipes */
    0x534f434b, /* sockets */
};

int sluice_is_kernel_file(int fd) {
  struct statfs facts;
  if (fstatfs(fd, &facts) != 0) return -1;
  for (unsigned i = 0; i < sizeof kernel_types / sizeof *kernel_types; i++)
    if (((unsigned long)facts.f_type & 0xffffffff) == kernel_types[i]) return 1;
  return 0;
}
