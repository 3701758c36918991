/* Ways to reach files that were not passed to the stage. */
#include "escape.h"

#include <sys/mount.h>
#include <sys/xattr.h>

/* ---- Reading ---- */

static sluice_verdict open_secret(struct scene *scene) {
  return read_from(scene, (int)syscall(SYS_open, secret(scene).text, O_RDONLY, 0));
}
static sluice_verdict openat_secret(struct scene *scene) {
  return read_from(scene, openat(AT_FDCWD, secret(scene).text, O_RDONLY));
}
static sluice_verdict openat2_secret(struct scene *scene) {
  const struct {
    uint64_t flags, mode, resolve;
  } how = {O_RDONLY, 0, 0};
  return read_from(scene, (int)syscall(437, AT_FDCWD, secret(scene).text, &how, sizeof how));
}
static sluice_verdict open_by_root(struct scene *scene) {
  return read_from(scene, openat(AT_FDCWD, path("/proc/self/root%s", secret(scene).text).text, O_RDONLY));
}
/* The worker starts in the coordinator's working folder. */
static sluice_verdict open_by_cwd(struct scene *scene) {
  return read_from(scene, openat(AT_FDCWD, "/proc/self/cwd/secret", O_RDONLY));
}
static sluice_verdict open_relative(struct scene *scene) {
  return read_from(scene, openat(AT_FDCWD, "secret", O_RDONLY));
}
static sluice_verdict open_by_link(struct scene *scene) {
  return read_from(scene, openat(AT_FDCWD, path("%s/link", scene->world).text, O_RDONLY));
}
/* A descriptor opened with O_PATH may allow opening files below it. */
static sluice_verdict open_below_path(struct scene *scene) {
  int place = openat(AT_FDCWD, scene->world, O_PATH | O_DIRECTORY);
  return place < 0 ? denied(scene) : read_from(scene, openat(place, "secret", O_RDONLY));
}
static sluice_verdict open_dot_dot(struct scene *scene) {
  int file = openat(FOLDER, "../../secret", O_RDONLY);
  return file < 0 ? denied_folder(scene) : read_from(scene, file);
}
static sluice_verdict list_folder(struct scene *scene) {
  char room[2048];
  int folder = openat(AT_FDCWD, scene->world, O_RDONLY | O_DIRECTORY);
  if (folder < 0) return denied(scene);
  return answered(scene, syscall(SYS_getdents64, folder, room, sizeof room));
}
static sluice_verdict open_neighbour(struct scene *scene) {
  return read_from(scene, openat(AT_FDCWD, path("%s/in/flock", scene->world).text, O_RDONLY));
}
static sluice_verdict open_ledger(struct scene *scene) {
  int ledger = openat(AT_FDCWD, path("%s/home/sluice.db", scene->world).text, O_RDWR);
  return ledger < 0 ? denied(scene) : achieved(scene, "the ledger is open for writing");
}
/* The machine's private keys lie beside the certificates that a channel needs. */
static sluice_verdict open_private_keys(struct scene *scene) {
  int folder = openat(AT_FDCWD, "/etc/ssl/private", O_RDONLY | O_DIRECTORY);
  return folder < 0 ? denied(scene) : achieved(scene, "the folder of private keys is open");
}
static sluice_verdict open_passwords(struct scene *scene) {
  return read_from(scene, openat(AT_FDCWD, "/etc/passwd", O_RDONLY));
}
static sluice_verdict stat_secret(struct scene *scene) {
  struct stat facts;
  return answered(scene, fstatat(AT_FDCWD, secret(scene).text, &facts, 0));
}
static sluice_verdict handle(struct scene *scene) {
  union {
    struct file_handle handle;
    char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
  } named = {.handle.handle_bytes = MAX_HANDLE_SZ};
  int mount;
  return answered(scene, name_to_handle_at(AT_FDCWD, secret(scene).text, &named.handle, &mount, 0));
}
static sluice_verdict open_handle(struct scene *scene) {
  union {
    struct file_handle handle;
    char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
  } named = {.handle.handle_bytes = 8, .handle.handle_type = 1};
  return answered(scene, open_by_handle_at(scene->content, &named.handle, O_RDONLY));
}

/* ---- /proc ---- */

static sluice_verdict parent_environment(struct scene *scene) {
  return read_from(scene, openat(AT_FDCWD, path("/proc/%d/environ", scene->parent).text, O_RDONLY));
}
static sluice_verdict canary_environment(struct scene *scene) {
  return read_from(scene, openat(AT_FDCWD, path("/proc/%d/environ", scene->canary).text, O_RDONLY));
}
static sluice_verdict canary_memory(struct scene *scene) {
  int memory = openat(AT_FDCWD, path("/proc/%d/mem", scene->canary).text, O_RDWR);
  if (memory < 0) return denied(scene);
  return pwrite(memory, "X", 1, (off_t)(uintptr_t)scene->buffer) == 1 ? achieved(scene, "wrote") : denied(scene);
}
static sluice_verdict canary_root(struct scene *scene) {
  return read_from(scene, openat(AT_FDCWD, path("/proc/%d/root%s", scene->canary, secret(scene).text).text, O_RDONLY));
}
static sluice_verdict canary_descriptor(struct scene *scene) {
  return read_from(scene, openat(AT_FDCWD, path("/proc/%d/fd/8", scene->canary).text, O_RDONLY));
}
/* The worker's own memory, including read-only code. */
static sluice_verdict own_memory(struct scene *scene) {
  int memory = openat(AT_FDCWD, "/proc/self/mem", O_RDWR);
  if (memory < 0) return denied(scene);
  unsigned char first = *(unsigned char *)(uintptr_t)own_memory;
  return pwrite(memory, &first, 1, (off_t)(uintptr_t)own_memory) == 1 ? achieved(scene, "wrote code") : denied(scene);
}
static sluice_verdict own_environment(struct scene *scene) {
  return read_from(scene, openat(AT_FDCWD, "/proc/self/environ", O_RDONLY));
}
static sluice_verdict core_pattern(struct scene *scene) {
  int file = openat(AT_FDCWD, "/proc/sys/kernel/core_pattern", O_WRONLY);
  return file < 0 ? denied(scene) : achieved(scene, "what the kernel runs at a crash is open for writing");
}

/* The status page of another worker: the coordinator maps every worker's page. Writing to it has no
 * effect. */
static sluice_verdict status_page(struct scene *scene) {
  const struct path maps = path("/proc/%d/map_files", scene->parent);
  char room[8192], link[256];
  int folder = openat(AT_FDCWD, maps.text, O_RDONLY | O_DIRECTORY);
  if (folder < 0) return denied(scene);
  for (long count; (count = syscall(SYS_getdents64, folder, room, sizeof room)) > 0;)
    for (long at = 0; at < count; at += *(unsigned short *)(room + at + 16)) {
      const char *name = room + at + 19;
      ssize_t length = readlinkat(folder, name, link, sizeof link - 1);
      if (length < 0) continue;
      link[length] = 0;
      if (!strstr(link, "sluice-status")) continue;
      int page = openat(folder, name, O_RDWR);
      if (page < 0) return denied(scene);
      return pwrite(page, "X", 1, 4095) == 1 ? achieved(scene, "wrote to %s", link) : denied(scene);
    }
  return unclear(scene, "there is no page");
}

/* ---- The content's own file ---- */

static sluice_verdict reopen_content(struct scene *scene) {
  return write_to(scene, openat(AT_FDCWD, path("/proc/self/fd/%d", scene->content).text, O_RDWR));
}
static sluice_verdict reopen_content_dev(struct scene *scene) {
  return write_to(scene, openat(AT_FDCWD, path("/dev/fd/%d", scene->content).text, O_RDWR));
}
static sluice_verdict write_content(struct scene *scene) {
  if (pwrite(scene->content, "changed", 7, 0) == 7) return achieved(scene, "wrote");
  if (ftruncate(scene->content, 0) == 0) return achieved(scene, "cut");
  void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, scene->content, 0);
  if (page == MAP_FAILED) return refused(scene, "%s", strerrorname_np(errno));
  memcpy(page, "changed", 7);
  return achieved(scene, "wrote through memory");
}
static sluice_verdict chmod_content(struct scene *scene) { return answered(scene, fchmod(scene->content, 0777)); }
static sluice_verdict chown_content(struct scene *scene) {
  return answered(scene, fchown(scene->content, getuid(), getgid()));
}
static sluice_verdict touch_content(struct scene *scene) {
  return answered(scene, futimens(scene->content, (struct timespec[2]){{.tv_sec = 1}, {.tv_sec = 1}}));
}
static sluice_verdict tag_content(struct scene *scene) {
  return answered(scene, fsetxattr(scene->content, "user.sluice", "x", 1, 0));
}
/* If it had a name in the store, the sender's file could be opened there for writing. */
static sluice_verdict link_content(struct scene *scene) {
  if (linkat(scene->content, "", FOLDER, scene->act, AT_EMPTY_PATH) != 0)
    return errno == ENOENT ? refused(scene, "ENOENT, for want of CAP_DAC_READ_SEARCH") : denied(scene);
  return write_to(scene, openat(FOLDER, scene->act, O_RDWR));
}
static sluice_verdict link_content_proc(struct scene *scene) {
  const struct path own = path("/proc/self/fd/%d", scene->content);
  if (linkat(AT_FDCWD, own.text, FOLDER, scene->act, AT_SYMLINK_FOLLOW) != 0) return denied(scene);
  return write_to(scene, openat(FOLDER, scene->act, O_RDWR));
}

/* ---- Changing ---- */

static sluice_verdict overwrite(struct scene *scene) {
  return write_to(scene, openat(AT_FDCWD, target(scene).text, O_WRONLY));
}
static sluice_verdict cut(struct scene *scene) { return answered(scene, truncate(target(scene).text, 0)); }
static sluice_verdict cut_open(struct scene *scene) {
  int file = openat(AT_FDCWD, target(scene).text, O_WRONLY | O_TRUNC);
  return file < 0 ? denied(scene) : achieved(scene, "cut");
}
static sluice_verdict create(struct scene *scene) {
  return write_to(scene, openat(AT_FDCWD, novelty(scene).text, O_RDWR | O_CREAT, 0600));
}
static sluice_verdict create_dot_dot(struct scene *scene) {
  const struct path up = path("../../out/made-%s", scene->act);
  int file = openat(FOLDER, up.text, O_RDWR | O_CREAT, 0600);
  return file < 0 ? denied_folder(scene) : write_to(scene, file);
}
static sluice_verdict create_nameless(struct scene *scene) {
  int file = openat(AT_FDCWD, path("%s/out", scene->world).text, O_RDWR | O_TMPFILE, 0600);
  return file < 0 ? denied(scene) : achieved(scene, "a file without a name is open there");
}
static sluice_verdict make_folder(struct scene *scene) {
  return answered(scene, mkdirat(AT_FDCWD, novelty(scene).text, 0700));
}
static sluice_verdict take_away(struct scene *scene) {
  return answered(scene, unlinkat(AT_FDCWD, target(scene).text, 0));
}
static sluice_verdict rename_outside(struct scene *scene) {
  return answered(scene, renameat(AT_FDCWD, target(scene).text, AT_FDCWD, novelty(scene).text));
}
static sluice_verdict rename_into(struct scene *scene) {
  return answered(scene, renameat(AT_FDCWD, target(scene).text, FOLDER, scene->act));
}
static sluice_verdict rename_out(struct scene *scene) {
  int file = openat(FOLDER, scene->act, O_RDWR | O_CREAT, 0600);
  if (file < 0) return denied_folder(scene);
  return answered(scene, renameat(FOLDER, scene->act, AT_FDCWD, novelty(scene).text));
}
static sluice_verdict exchange(struct scene *scene) {
  int file = openat(FOLDER, scene->act, O_RDWR | O_CREAT, 0600);
  if (file < 0) return denied_folder(scene);
  return answered(scene, renameat2(FOLDER, scene->act, AT_FDCWD, target(scene).text, RENAME_EXCHANGE));
}
static sluice_verdict link_into(struct scene *scene) {
  if (linkat(AT_FDCWD, target(scene).text, FOLDER, scene->act, 0) != 0) return denied(scene);
  return write_to(scene, openat(FOLDER, scene->act, O_RDWR));
}
static sluice_verdict link_out(struct scene *scene) {
  int file = openat(FOLDER, scene->act, O_RDWR | O_CREAT, 0600);
  if (file < 0) return denied_folder(scene);
  return answered(scene, linkat(FOLDER, scene->act, AT_FDCWD, novelty(scene).text, 0));
}
/* Creates a symbolic link, and opens a file through it. */
static sluice_verdict make_symlink(struct scene *scene) {
  if (symlinkat(target(scene).text, FOLDER, scene->act) != 0) return denied(scene);
  return write_to(scene, openat(FOLDER, scene->act, O_WRONLY));
}
/* Follows a symbolic link that already lies in the store. */
static sluice_verdict follow_symlink(struct scene *scene) {
  return write_to(scene, openat(AT_FDCWD, path("%s/way-out/%s", scene->store, scene->act).text, O_WRONLY));
}
static sluice_verdict chmod_outside(struct scene *scene) {
  return answered(scene, fchmodat(AT_FDCWD, target(scene).text, 0777, 0));
}
static sluice_verdict chown_outside(struct scene *scene) {
  return answered(scene, fchownat(AT_FDCWD, target(scene).text, getuid(), getgid(), 0));
}
static sluice_verdict touch_outside(struct scene *scene) {
  return answered(scene, utimensat(AT_FDCWD, target(scene).text, (struct timespec[2]){{.tv_sec = 1}, {.tv_sec = 1}}, 0));
}
static sluice_verdict make_device(struct scene *scene) {
  return answered(scene, mknodat(AT_FDCWD, novelty(scene).text, S_IFIFO | 0600, 0));
}
/* A program that runs as the store's owner, whoever starts it. */
static sluice_verdict make_setuid(struct scene *scene) {
  int file = openat(FOLDER, scene->act, O_RDWR | O_CREAT, 04755);
  if (file < 0) return denied_folder(scene);
  struct stat facts;
  fchmod(file, 04755);
  if (fstat(file, &facts) != 0) return denied(scene);
  return facts.st_mode & S_ISUID ? achieved(scene, "mode %o", facts.st_mode) : refused(scene, "mode %o", facts.st_mode);
}
static sluice_verdict chmod_setuid(struct scene *scene) {
  int file = openat(FOLDER, scene->act, O_RDWR | O_CREAT, 0700);
  return file < 0 ? denied_folder(scene) : answered(scene, fchmod(file, 04755));
}
static sluice_verdict make_setgid_folder(struct scene *scene) {
  return answered(scene, mkdirat(FOLDER, scene->act, 02777));
}
static sluice_verdict shared_memory_file(struct scene *scene) {
  int file = openat(AT_FDCWD, path("/dev/shm/sluice-%d-made", scene->canary).text, O_RDWR | O_CREAT, 0600);
  return file < 0 ? denied(scene) : achieved(scene, "shared memory is open");
}
/* The descriptor number of a store's folder. */
static sluice_verdict use_folder(struct scene *scene) {
  if (openat(FOLDER, ".", O_RDONLY | O_DIRECTORY) >= 0) return achieved(scene, "a folder is open");
  return denied_folder(scene);
}

/* ---- File systems ---- */

static sluice_verdict mount_act(struct scene *scene) {
  if (mount("none", path("%s/mounts", scene->world).text, "tmpfs", 0, NULL) != 0) return denied(scene);
  umount2(path("%s/mounts", scene->world).text, MNT_DETACH);
  return achieved(scene, "mounted");
}
static sluice_verdict umount_act(struct scene *scene) {
  return answered(scene, umount2(scene->world, UMOUNT_NOFOLLOW));
}
static sluice_verdict pivot_act(struct scene *scene) {
  return answered(scene, syscall(SYS_pivot_root, scene->world, scene->world));
}
static sluice_verdict chroot_act(struct scene *scene) { return answered(scene, chroot(scene->world)); }
static sluice_verdict chdir_act(struct scene *scene) { return answered(scene, chdir(scene->world)); }
static sluice_verdict fsopen_act(struct scene *scene) { return answered(scene, syscall(430 /* fsopen */, "tmpfs", 0)); }
static sluice_verdict open_tree_act(struct scene *scene) {
  return answered(scene, syscall(428 /* open_tree */, AT_FDCWD, scene->world, 0));
}
static sluice_verdict swap_on(struct scene *scene) {
  return answered(scene, syscall(SYS_swapon, novelty(scene).text, 0));
}
static sluice_verdict account(struct scene *scene) { return answered(scene, syscall(SYS_acct, novelty(scene).text)); }
static sluice_verdict quota(struct scene *scene) {
  return answered(scene, syscall(SYS_quotactl, 0x80000700 /* Q_SYNC of users */, novelty(scene).text, 0, NULL));
}
static sluice_verdict watch_act(struct scene *scene) { return answered(scene, syscall(SYS_inotify_init1, 0)); }
static sluice_verdict watch_all(struct scene *scene) {
  return answered(scene, syscall(SYS_fanotify_init, 0, O_RDONLY));
}
static sluice_verdict lock_content(struct scene *scene) {
  return answered(scene, syscall(SYS_flock, scene->content, 2));
}

static const struct act file_acts[] = {
    {"open", open_secret}, {"openat", openat_secret}, {"openat2", openat2_secret}, {"open-by-root", open_by_root},
    {"open-by-cwd", open_by_cwd}, {"open-relative", open_relative}, {"open-by-link", open_by_link},
    {"open-below-path", open_below_path}, {"open-dot-dot", open_dot_dot}, {"list-folder", list_folder},
    {"open-neighbour", open_neighbour}, {"open-ledger", open_ledger}, {"open-private-keys", open_private_keys},
    {"open-passwords", open_passwords}, {"stat", stat_secret}, {"name-to-handle", handle},
    {"open-by-handle", open_handle},
    {"parent-environment", parent_environment}, {"canary-environment", canary_environment},
    {"canary-memory", canary_memory}, {"canary-root", canary_root}, {"canary-descriptor", canary_descriptor},
    {"own-memory", own_memory}, {"own-environment", own_environment}, {"core-pattern", core_pattern},
    {"status-page", status_page},
    {"reopen-content", reopen_content}, {"reopen-content-dev", reopen_content_dev}, {"write-content", write_content},
    {"chmod-content", chmod_content}, {"chown-content", chown_content}, {"touch-content", touch_content},
    {"tag-content", tag_content}, {"link-content", link_content}, {"link-content-proc", link_content_proc},
    {"overwrite", overwrite}, {"truncate", cut}, {"open-truncate", cut_open}, {"create", create},
    {"create-dot-dot", create_dot_dot}, {"create-nameless", create_nameless}, {"mkdir", make_folder},
    {"unlink", take_away}, {"rename-outside", rename_outside}, {"rename-into", rename_into}, {"rename-out", rename_out},
    {"exchange", exchange}, {"link-into", link_into}, {"link-out", link_out}, {"make-symlink", make_symlink},
    {"follow-symlink", follow_symlink}, {"chmod", chmod_outside}, {"chown", chown_outside}, {"touch", touch_outside},
    {"mknod", make_device}, {"make-setuid", make_setuid}, {"chmod-setuid", chmod_setuid},
    {"make-setgid-folder", make_setgid_folder}, {"shared-memory-file", shared_memory_file}, {"use-folder", use_folder},
    {"mount", mount_act}, {"umount", umount_act}, {"pivot-root", pivot_act}, {"chroot", chroot_act},
    {"chdir", chdir_act},
    {"fsopen", fsopen_act}, {"open-tree", open_tree_act}, {"swapon", swap_on}, {"acct", account}, {"quotactl", quota},
    {"inotify", watch_act}, {"fanotify", watch_all}, {"flock", lock_content},
};
