#include <sqlite3.h>

/* sqlite3_config is variadic. Without memory statistics, SQLite takes no lock for each allocation. */
static inline int sluice_sqlite_no_memory_statistics(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }
/* sqlite3_db_config is variadic. */
static inline int sluice_sqlite_no_checkpoint_on_close(sqlite3 *database) {
  return sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}
