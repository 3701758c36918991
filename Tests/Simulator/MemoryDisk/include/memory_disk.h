/* A file system in memory for SQLite (https://sqlite.org/vfs.html), which loses what a real one loses. Used by one thread. */
#ifndef MEMORY_DISK_H
#define MEMORY_DISK_H

#include <stdint.h>

/* Asked before each write, truncation, sync and deletion. 0: it is done; else a result code of SQLite's, with which it fails. */
typedef int (*memory_disk_guard)(void *context);

/* Makes it SQLite's default file system. Returns a result code. */
int memory_disk_register(memory_disk_guard guard, void *context);
/* Takes all files away. */
void memory_disk_format(void);
/* The process that had files open has ended, and with it their shared memory. Its connections must be closed by then. */
void memory_disk_end_process(void);
/* The machine has lost power as well. Of each sector that was written after the last sync of its file, the old or the new
 * content is left, as the seed has it. */
void memory_disk_lose_power(uint64_t seed);

#endif
