import Foundation
import Testing

/// A stage that acts by the file's name, written in C against the contract alone.
enum Trouble {
  static let source = """
    #include "sluice/stage.h"
    #include <stdlib.h>
    #include <string.h>
    #include <unistd.h>

    static sluice_verdict open_stage(const sluice_stage *stage, const sluice_opening *opening, void **instance) {
      *instance = NULL;
      return SLUICE_PASS;
    }

    static sluice_verdict process(void *instance, const sluice_attachment *attachment, sluice_call *call) {
      const char *name = attachment->file_name;
      if (strcmp(name, "crash") == 0) *(volatile int *)0 = 1;
      if (strcmp(name, "hang") == 0) for (;;) sleep(1);
      if (strcmp(name, "spin") == 0) for (volatile int i = 0;; i++);
      if (strcmp(name, "exit") == 0) _exit(3);
      if (strcmp(name, "eat") == 0) memset(malloc((size_t)2 << 30), 1, (size_t)2 << 30);
      return SLUICE_PASS;
    }

    static void close_stage(void *instance) {}

    static const sluice_stage stage = {
        .size = sizeof(sluice_stage), .abi_major = MAJOR, .id = ID, .version = "1.0.0",
        .summary = "Does what the name of the file says.",
        .open = open_stage, .process = process, .close = close_stage};

    const sluice_stage *FUNCTION(uint32_t host_major) { return &stage; }
    """

  /// Makes `plugins/<file>.so`.
  static func build(_ id: String, in folder: TemporaryFolder, major: Int = 1, file: String? = nil) throws {
    let code = try folder.write("plugins/\(id).c", source)
    let clang = Process()
    clang.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    clang.arguments = [
      "clang", "-w", "-shared", "-fPIC", "-I",
      SluiceCommand.projectFolder + "/Sources/Contract/CStage/include",
      "-DMAJOR=\(major)", "-DID=\"\(id)\"", "-DFUNCTION=\(id)_stage", code, "-o",
      "\(folder.path)/plugins/\(file ?? id).so",
    ]
    try clang.run()
    clang.waitUntilExit()
    try #require(clang.terminationStatus == 0)
  }
}
