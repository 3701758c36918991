/* What the sandboxes of workers and of programs share: Landlock's declarations, and rules of seccomp in few words. */
#ifndef SLUICE_SANDBOX_H
#define SLUICE_SANDBOX_H

#include <seccomp.h>
#include <stdint.h>

/* ---- Landlock ----
 * Declared here and not taken from <linux/landlock.h>: Debian 12's header lacks network and scope, and an
 * #ifdef would drop those limits silently. Values from the kernel's include/uapi/linux/landlock.h. */

struct ruleset {
  uint64_t files, tcp, scope;
};

struct below {
  uint64_t allowed;
  int32_t parent;
} __attribute__((packed));

enum { CREATE_RULESET = 444, ADD_RULE = 445, RESTRICT_SELF = 446, RULE_BELOW = 1, ASK_VERSION = 1 };

enum { EXECUTE = 1 << 0, WRITE_FILE = 1 << 1, READ_FILE = 1 << 2, READ_FOLDER = 1 << 3, TRUNCATE = 1 << 14 };

enum {
  STORE = WRITE_FILE | READ_FILE | READ_FOLDER | (1 << 5) /* remove file */ | (1 << 7) /* make folder */
          | (1 << 8) /* make file */ | (1 << 13) /* link and rename across folders */ | TRUNCATE,
};

/* Every kind of access that the kernel's ABI knows: Landlock restricts only the kinds that are handled. */
uint64_t sluice_landlock_files(int abi);
/* The size of `struct ruleset` that the ABI knows. */
size_t sluice_landlock_size(int abi);
/* Allows access to a file, or to a folder and all below it. -1: see errno. */
int sluice_landlock_allow(int rules, int parent, uint64_t access);
/* A ruleset that denies all files, addresses of TCP as the capability has them, signals and abstract sockets; -1: see errno. */
int sluice_landlock_begin(uint32_t capability);
/* Allows what a stage that stores may do in its folder. */
int sluice_landlock_allow_folder(int rules, int folder);
/* A path that does not open needs no rule. */
int sluice_landlock_allow_path(int rules, const char *path, uint64_t access);
/* Allows reading the files by which names are resolved and certificates checked. */
int sluice_landlock_allow_network(int rules);
/* Restricts this thread by the ruleset, unless a rule failed, and closes it. Returns the parts in force. */
uint32_t sluice_landlock_close(int rules, int failed);

/* ---- System calls: each adds a rule to `filter`, and its failure to `failed` ---- */

#define ALLOW(name) failed |= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(name), 0)
#define ALLOW_IF(name, ...) \
  failed |= seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, SCMP_SYS(name), \
                                   sizeof((struct scmp_arg_cmp[]){__VA_ARGS__}) / sizeof(struct scmp_arg_cmp), \
                                   (struct scmp_arg_cmp[]){__VA_ARGS__})
#define IS(argument, value) ((struct scmp_arg_cmp){(argument), SCMP_CMP_EQ, (value), 0})
#define IS_NOT(argument, value) ((struct scmp_arg_cmp){(argument), SCMP_CMP_NE, (value), 0})
#define SAME(argument, value) ((struct scmp_arg_cmp){(argument), SCMP_CMP_MASKED_EQ, 0xFFFFFFFFu, (value)})
#define LACKS(argument, bits) ((struct scmp_arg_cmp){(argument), SCMP_CMP_MASKED_EQ, (bits), 0})
#define HAS(argument, bits) ((struct scmp_arg_cmp){(argument), SCMP_CMP_MASKED_EQ, (bits), (bits)})

/* What stages of each capability may call; those of `store` and `network` may call what `content` may. */
int sluice_allow_content(scmp_filter_ctx filter);
int sluice_allow_store(scmp_filter_ctx filter);
int sluice_allow_network(scmp_filter_ctx filter);

/* The user and the group that own nothing. */
enum { NOBODY = 65534 };

#endif
