#include "imports.h"

#include <elf.h>
#define __USE_GNU
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t page_size(void) { return (size_t)sysconf(_SC_PAGESIZE); }
static size_t page_of(const void *address) { return (size_t)address & ~(page_size() - 1); }

static const ElfW(Dyn) * dynamic(const struct dl_phdr_info *info) {
  for (int i = 0; i < info->dlpi_phnum; i++)
    if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
      return (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
  return NULL;
}

static bool contains(const struct dl_phdr_info *info, const void *address) {
  const ElfW(Addr) offset = (ElfW(Addr))address - info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[i];
    if (part->p_type == PT_LOAD && offset >= part->p_vaddr && offset - part->p_vaddr < part->p_memsz) return true;
  }
  return false;
}

static bool is_constant(const struct dl_phdr_info *info, const void *address) {
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[i];
    const size_t start = info->dlpi_addr + part->p_vaddr;
    const size_t page = page_of(address);
    if (part->p_type == PT_GNU_RELRO && page >= page_of((const void *)start) &&
        page + page_size() <= start + part->p_memsz)
      return true;
  }
  return false;
}

static int look(struct dl_phdr_info *info, size_t size_of_info, void *wanted) {
  (void)size_of_info;
  sluice_import *import = wanted;
  if (!contains(info, import->inside)) return 0;
  const ElfW(Sym) *symbols = NULL;
  const char *names = NULL;
  const ElfW(Rela) *imports = NULL;
  size_t size = 0;
  /* glibc has turned these into addresses. */
  for (const ElfW(Dyn) *entry = dynamic(info); entry && entry->d_tag != DT_NULL; entry++) {
    if (entry->d_tag == DT_SYMTAB) symbols = (const ElfW(Sym) *)entry->d_un.d_ptr;
    if (entry->d_tag == DT_STRTAB) names = (const char *)entry->d_un.d_ptr;
    if (entry->d_tag == DT_JMPREL) imports = (const ElfW(Rela) *)entry->d_un.d_ptr;
    if (entry->d_tag == DT_PLTRELSZ) size = entry->d_un.d_val;
  }
  if (!symbols || !names || !imports) return 1;
  for (size_t i = 0; i < size / sizeof *imports; i++) {
    const size_t symbol = sizeof(ElfW(Addr)) == 8 ? imports[i].r_info >> 32 : imports[i].r_info >> 8;
    if (strcmp(names + symbols[symbol].st_name, import->name) != 0) continue;
    import->slot = (void **)(info->dlpi_addr + imports[i].r_offset);
    import->is_constant = is_constant(info, import->slot);
    return 1;
  }
  return 1;
}

bool sluice_import_find(sluice_import *import) {
  dl_iterate_phdr(look, import);
  return import->slot != NULL;
}

bool sluice_import_replace(const sluice_import *import, void *function) {
  void *page = (void *)page_of(import->slot);
  if (import->is_constant && mprotect(page, page_size(), PROT_READ | PROT_WRITE) != 0) return false;
  *import->slot = function;
  return !import->is_constant || mprotect(page, page_size(), PROT_READ) == 0;
}
