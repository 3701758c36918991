#include "memory_disk.h"

#include <sqlite3.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 4096, SECTOR = 512, REGIONS = 64, FILES = 16, NAME = 256 };

typedef struct {
  char name[NAME]; /* empty: there is no such file */
  uint8_t *bytes;  /* as programs see it */
  uint8_t *synced; /* as it survives a power loss */
  uint8_t *dirty;  /* blocks that differ */
  int64_t size, synced_size, room;
  int64_t cut;            /* the least size it was cut to since it was synced */
  int readers;            /* handles with a lock */
  void *regions[REGIONS]; /* shared memory */
} disk_file;

typedef struct {
  sqlite3_file base;
  disk_file *file;
  int is_temporary, level;
} handle;

static disk_file files[FILES];
static memory_disk_guard guard;
static void *guard_context;
static uint64_t random_state = 1;

static uint64_t mix(uint64_t value) {
  value += 0x9E3779B97F4A7C15u;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
  return value ^ (value >> 31);
}

static disk_file *find(const char *name) {
  for (int at = 0; at < FILES; at++)
    if (files[at].name[0] && strcmp(files[at].name, name) == 0) return &files[at];
  return NULL;
}

static void drop_regions(disk_file *file) {
  for (int at = 0; at < REGIONS; at++) {
    free(file->regions[at]);
    file->regions[at] = NULL;
  }
}

static void drop(disk_file *file) {
  drop_regions(file);
  free(file->bytes);
  free(file->synced);
  free(file->dirty);
  memset(file, 0, sizeof *file);
}

static int grow(disk_file *file, int64_t size) {
  if (size <= file->room) return SQLITE_OK;
  int64_t room = file->room ? file->room : 64 * BLOCK;
  while (room < size) room *= 2;
  uint8_t *bytes = realloc(file->bytes, room), *synced = realloc(file->synced, room);
  uint8_t *dirty = realloc(file->dirty, room / BLOCK);
  if (!bytes || !synced || !dirty) abort();
  memset(bytes + file->room, 0, room - file->room);
  memset(synced + file->room, 0, room - file->room);
  memset(dirty + file->room / BLOCK, 0, (room - file->room) / BLOCK);
  file->bytes = bytes;
  file->synced = synced;
  if (!file->room) file->cut = INT64_MAX;
  file->dirty = dirty;
  file->room = room;
  return SQLITE_OK;
}

/* ---- A file ---- */

static int may_change(const handle *open) {
  return open->is_temporary || !guard ? SQLITE_OK : guard(guard_context);
}

static int disk_close(sqlite3_file *base) {
  handle *open = (handle *)base;
  if (open->is_temporary && open->file) {
    drop(open->file);
    free(open->file);
  }
  return SQLITE_OK;
}

static int disk_read(sqlite3_file *base, void *room, int count, sqlite3_int64 offset) {
  handle *open = (handle *)base;
  disk_file *file = open->file;
  int64_t there = offset >= file->size ? 0 : file->size - offset;
  if (there > count) there = count;
  if (there > 0) memcpy(room, file->bytes + offset, there);
  if (there == count) return SQLITE_OK;
  memset((uint8_t *)room + there, 0, count - there);
  return SQLITE_IOERR_SHORT_READ;
}

static int disk_write(sqlite3_file *base, const void *bytes, int count, sqlite3_int64 offset) {
  handle *open = (handle *)base;
  int code = may_change(open);
  if (code) return code;
  disk_file *file = open->file;
  grow(file, offset + count);
  memcpy(file->bytes + offset, bytes, count);
  for (int64_t block = offset / BLOCK; block <= (offset + count - 1) / BLOCK; block++) file->dirty[block] = 1;
  if (offset + count > file->size) file->size = offset + count;
  return SQLITE_OK;
}

static int disk_truncate(sqlite3_file *base, sqlite3_int64 size) {
  handle *open = (handle *)base;
  int code = may_change(open);
  if (code) return code;
  disk_file *file = open->file;
  if (size >= file->size) return SQLITE_OK;
  memset(file->bytes + size, 0, file->size - size);
  for (int64_t block = size / BLOCK; block <= (file->size - 1) / BLOCK; block++) file->dirty[block] = 1;
  file->size = size;
  if (size < file->cut) file->cut = size;
  return SQLITE_OK;
}

static int disk_sync(sqlite3_file *base, int flags) {
  (void)flags;
  handle *open = (handle *)base;
  int code = may_change(open);
  if (code) return code;
  disk_file *file = open->file;
  for (int64_t block = 0; block < file->room / BLOCK; block++) {
    if (!file->dirty[block]) continue;
    memcpy(file->synced + block * BLOCK, file->bytes + block * BLOCK, BLOCK);
    file->dirty[block] = 0;
  }
  file->synced_size = file->size;
  file->cut = INT64_MAX;
  return SQLITE_OK;
}

static int disk_size(sqlite3_file *base, sqlite3_int64 *size) {
  *size = ((handle *)base)->file->size;
  return SQLITE_OK;
}

/* There is one thread, and none waits within a transaction. Only whether others have the file open matters, since the last
 * one to close it takes its log away. */
static int disk_lock(sqlite3_file *base, int level) {
  handle *open = (handle *)base;
  if (level == SQLITE_LOCK_EXCLUSIVE && open->file->readers > 1) return SQLITE_BUSY;
  if (open->level == SQLITE_LOCK_NONE && level > SQLITE_LOCK_NONE) open->file->readers++;
  if (level > open->level) open->level = level;
  return SQLITE_OK;
}
static int disk_unlock(sqlite3_file *base, int level) {
  handle *open = (handle *)base;
  if (open->level > SQLITE_LOCK_NONE && level == SQLITE_LOCK_NONE) open->file->readers--;
  if (level < open->level) open->level = level;
  return SQLITE_OK;
}
static int disk_check_lock(sqlite3_file *base, int *result) { return (void)base, *result = 0, SQLITE_OK; }
static int disk_control(sqlite3_file *base, int code, void *value) {
  return (void)base, (void)code, (void)value, SQLITE_NOTFOUND;
}
static int disk_sector_size(sqlite3_file *base) { return (void)base, SECTOR; }
static int disk_characteristics(sqlite3_file *base) { return (void)base, SQLITE_IOCAP_UNDELETABLE_WHEN_OPEN; }

static int disk_map(sqlite3_file *base, int region, int size, int extend, void volatile **place) {
  handle *open = (handle *)base;
  *place = NULL;
  if (region >= REGIONS) return SQLITE_IOERR_SHMMAP;
  if (!open->file->regions[region] && extend) open->file->regions[region] = calloc(1, size);
  *place = open->file->regions[region];
  return SQLITE_OK;
}
static int disk_lock_memory(sqlite3_file *base, int offset, int count, int flags) {
  return (void)base, (void)offset, (void)count, (void)flags, SQLITE_OK;
}
static void disk_barrier(sqlite3_file *base) { (void)base; }
static int disk_unmap(sqlite3_file *base, int is_deleted) {
  if (is_deleted) drop_regions(((handle *)base)->file);
  return SQLITE_OK;
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = disk_close,
    .xRead = disk_read,
    .xWrite = disk_write,
    .xTruncate = disk_truncate,
    .xSync = disk_sync,
    .xFileSize = disk_size,
    .xLock = disk_lock,
    .xUnlock = disk_unlock,
    .xCheckReservedLock = disk_check_lock,
    .xFileControl = disk_control,
    .xSectorSize = disk_sector_size,
    .xDeviceCharacteristics = disk_characteristics,
    .xShmMap = disk_map,
    .xShmLock = disk_lock_memory,
    .xShmBarrier = disk_barrier,
    .xShmUnmap = disk_unmap,
};

/* ---- The file system ---- */

static int disk_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *base, int flags, int *out) {
  (void)vfs;
  handle *open = (handle *)base;
  memset(open, 0, sizeof *open);
  if (!name) {
    open->is_temporary = 1;
    open->file = calloc(1, sizeof(disk_file));
    if (!open->file) return SQLITE_NOMEM;
  } else if (!(open->file = find(name))) {
    if (!(flags & SQLITE_OPEN_CREATE)) return SQLITE_CANTOPEN;
    for (int at = 0; at < FILES && !open->file; at++)
      if (!files[at].name[0]) open->file = &files[at];
    if (!open->file || strlen(name) >= NAME) return SQLITE_CANTOPEN;
    strcpy(open->file->name, name);
  }
  open->base.pMethods = &methods;
  if (out) *out = flags;
  return SQLITE_OK;
}

static int disk_delete(sqlite3_vfs *vfs, const char *name, int sync_folder) {
  (void)vfs, (void)sync_folder;
  disk_file *file = find(name);
  if (!file) return SQLITE_IOERR_DELETE_NOENT;
  int code = guard ? guard(guard_context) : SQLITE_OK;
  if (code) return code;
  drop(file);
  return SQLITE_OK;
}

static int disk_access(sqlite3_vfs *vfs, const char *name, int flags, int *result) {
  (void)vfs, (void)flags;
  *result = find(name) != NULL;
  return SQLITE_OK;
}

static int disk_full_name(sqlite3_vfs *vfs, const char *name, int room, char *full) {
  (void)vfs;
  if ((int)strlen(name) >= room) return SQLITE_CANTOPEN;
  strcpy(full, name);
  return SQLITE_OK;
}

static int disk_random(sqlite3_vfs *vfs, int count, char *bytes) {
  (void)vfs;
  for (int at = 0; at < count; at++) bytes[at] = (char)(random_state = mix(random_state));
  return count;
}

static int disk_sleep(sqlite3_vfs *vfs, int microseconds) { return (void)vfs, microseconds; }
static int disk_time(sqlite3_vfs *vfs, double *days) { return (void)vfs, *days = 2460000.5, SQLITE_OK; }
static int disk_last_error(sqlite3_vfs *vfs, int room, char *text) {
  return (void)vfs, (void)room, (void)text, 0;
}

static sqlite3_vfs disk = {
    .iVersion = 1,
    .szOsFile = sizeof(handle),
    .mxPathname = NAME,
    .zName = "memory-disk",
    .xOpen = disk_open,
    .xDelete = disk_delete,
    .xAccess = disk_access,
    .xFullPathname = disk_full_name,
    .xRandomness = disk_random,
    .xSleep = disk_sleep,
    .xCurrentTime = disk_time,
    .xGetLastError = disk_last_error,
};

int memory_disk_register(memory_disk_guard asked, void *context) {
  guard = asked;
  guard_context = context;
  return sqlite3_vfs_register(&disk, 1);
}

void memory_disk_format(void) {
  memory_disk_end_process();
  for (int at = 0; at < FILES; at++) drop(&files[at]);
  random_state = 1;
}

void memory_disk_end_process(void) {
  for (int at = 0; at < FILES; at++) drop_regions(&files[at]);
}

void memory_disk_lose_power(uint64_t seed) {
  memory_disk_end_process();
  for (int at = 0; at < FILES; at++) {
    disk_file *file = &files[at];
    if (!file->name[0]) continue;
    /* File systems cut a file as a whole: it happened, or it did not, and then nothing after it has. */
    int is_cut = file->cut != INT64_MAX && mix(seed ^ mix(at)) & 1;
    int is_uncut = file->cut != INT64_MAX && !is_cut;
    for (int64_t block = 0; block < file->room / BLOCK; block++) {
      if (!file->dirty[block]) continue;
      for (int64_t place = block * BLOCK; place < (block + 1) * BLOCK; place += SECTOR) {
        int is_lost = mix(seed ^ mix(at * 0x10000000 + place)) & 1;
        if (is_uncut && place + SECTOR > file->cut) is_lost = 1;
        if (!is_lost) continue;
        if (is_cut && place >= file->cut) memset(file->bytes + place, 0, SECTOR);
        else memcpy(file->bytes + place, file->synced + place, SECTOR);
      }
      memcpy(file->synced + block * BLOCK, file->bytes + block * BLOCK, BLOCK);
      file->dirty[block] = 0;
    }
    if (is_uncut || (!is_cut && mix(seed ^ at) & 1)) file->size = file->synced_size;
    file->cut = INT64_MAX;
    file->synced_size = file->size;
  }
}
