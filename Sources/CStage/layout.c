/* Locks the layout of the contract for 64-bit hosts: a change here is a new ABI major, or a mistake. */
#include "sluice/stage.h"

#define AT(type, member, offset) \
  _Static_assert(offsetof(type, member) == (offset), #type "." #member " moved")

#if UINTPTR_MAX == UINT64_MAX
AT(sluice_option, type, 4);
AT(sluice_option, shapes, 8);
AT(sluice_option, required, 12);
AT(sluice_option, name, 16);
AT(sluice_option, fallback, 24);
AT(sluice_option, help, 32);
AT(sluice_option, choices, 40);
AT(sluice_option, minimum, 48);
AT(sluice_option, maximum, 56);
AT(sluice_value, name, 8);
AT(sluice_value, key, 16);
AT(sluice_value, text, 24);
AT(sluice_value, integer, 32);
AT(sluice_value, number, 40);
AT(sluice_event, id, 8);
AT(sluice_event, type, 16);
AT(sluice_event, recipient, 24);
AT(sluice_event, body, 32);
AT(sluice_event, body_length, 40);
AT(sluice_attachment, attempt, 4);
AT(sluice_attachment, id, 8);
AT(sluice_attachment, conversation_id, 16);
AT(sluice_attachment, message_id, 24);
AT(sluice_attachment, sender_id, 32);
AT(sluice_attachment, file_name, 40);
AT(sluice_attachment, declared_type, 48);
AT(sluice_attachment, media_type, 56);
AT(sluice_attachment, sha256, 64);
AT(sluice_attachment, twin, 72);
AT(sluice_attachment, content, 80);
AT(sluice_attachment, outcome, 84);
AT(sluice_attachment, content_size, 88);
AT(sluice_attachment, reason_stage, 96);
AT(sluice_attachment, reason_code, 104);
AT(sluice_attachment, reason_message, 112);
AT(sluice_attachment, event, 120);
AT(sluice_attachment, modified, 128);
AT(sluice_attachment, changed, 136);
AT(sluice_host, explain, 8);
AT(sluice_host, annotate_text, 16);
AT(sluice_host, annotate_integer, 24);
AT(sluice_host, annotate_number, 32);
AT(sluice_host, annotate_boolean, 40);
AT(sluice_host, metadata, 48);
AT(sluice_host, set_media_type, 56);
AT(sluice_host, set_location, 64);
AT(sluice_host, matches, 72);
AT(sluice_host, expand, 80);
AT(sluice_host, produce, 88);
AT(sluice_host, emit, 96);
AT(sluice_host, retry_after, 104);
AT(sluice_host, pause, 112);
AT(sluice_host, settle, 120);
AT(sluice_host, progress, 128);
AT(sluice_host, cancelled, 136);
AT(sluice_host, log, 144);
AT(sluice_opening, value_count, 4);
AT(sluice_opening, id, 8);
AT(sluice_opening, values, 16);
AT(sluice_opening, host, 24);
AT(sluice_opening, call, 32);
AT(sluice_opening, folder, 40);
AT(sluice_stage, abi_major, 4);
AT(sluice_stage, abi_minor, 8);
AT(sluice_stage, capability, 12);
AT(sluice_stage, flags, 16);
AT(sluice_stage, option_count, 20);
AT(sluice_stage, key_count, 24);
AT(sluice_stage, code_count, 28);
AT(sluice_stage, id, 32);
AT(sluice_stage, version, 40);
AT(sluice_stage, summary, 48);
AT(sluice_stage, options, 56);
AT(sluice_stage, keys, 64);
AT(sluice_stage, codes, 72);
AT(sluice_stage, context, 80);
AT(sluice_stage, open, 88);
AT(sluice_stage, process, 96);
AT(sluice_stage, flush, 104);
AT(sluice_stage, close, 112);
#endif
