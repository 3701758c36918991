#include <sqlite3.h>

/* sqlite3_config is variadic. Without memory statistics, SQLite takes no lock for each allocation. */
static inline int sluice_sqlite_no_memory_statistics(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }
/* sqlite3_db_config is variadic. */
static inline int sluice_sqlite_no_checkpoint_on_close(sqlite3 *database) {
  return sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}
/* Its methods are pointers within a structure whose first member points to them. NULL: the database is in memory. */
static inline sqlite3_file *sluice_sqlite_file(sqlite3 *database) {
  sqlite3_file *file = 0;
  int code = sqlite3_file_control(database, "main", SQLITE_FCNTL_FILE_POINTER, &file);
  return code == SQLITE_OK && file && file->pMethods ? file : 0;
}
