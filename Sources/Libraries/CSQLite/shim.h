#include <sqlite3.h>

/* SQLITE_TRANSIENT is a cast that Swift does not import. With it, SQLite copies the bound bytes before it
 * returns. */
static inline int sluice_sqlite_bind_text(sqlite3_stmt *statement, int index, const char *text, int count) {
  return sqlite3_bind_text(statement, index, text, count, SQLITE_TRANSIENT);
}
static inline int sluice_sqlite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, int count) {
  return sqlite3_bind_blob(statement, index, bytes, count, SQLITE_TRANSIENT);
}
/* sqlite3_config is variadic. Without memory statistics, SQLite takes no lock for each allocation. */
static inline int sluice_sqlite_no_memory_statistics(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }
/* sqlite3_db_config is variadic. */
static inline int sluice_sqlite_no_checkpoint_on_close(sqlite3 *database) {
  return sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}
