import Foundation
import Glibc
import Testing

/// A library's constructors run in the sandbox from their first instruction, whichever verb loads it.
@Suite(.serialized)
struct LoadingTests {
  /// What a constructor reaches for: a file, a socket, or another process.
  static let ways = [
    "write", "read", "list", "unlink", "rename", "make-folder", "chmod", "truncate", "link", "signal",
    "trace", "memory",
    "shared-memory", "tcp", "unix",
  ]

  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try folder.write("in/a", "a text\n")
    try folder.write("elsewhere/file", "a secret\n")
    try folder.write(
      "plugins/pipeline.yaml", Pipelines.only("reach", plugins: ".", more: "retry: { attempts: 1 }"))
  }

  @Test(arguments: ways) func aConstructorReachesNothing(way: String) throws {
    let listener = try Listener(folder.path + "/elsewhere/socket")
    let target =
      switch way {
      case "tcp": "\(listener.port)"
      case "unix": folder.path + "/elsewhere/socket"
      case "list": folder.path + "/elsewhere"
      case "make-folder": folder.path + "/elsewhere/made"
      default: folder.path + "/elsewhere/file"
      }
    let library = try FixtureStages.compile(
      "reach", into: folder.path + "/plugins", ["-DWAY=\"\(way)\"", "-DTARGET=\"\(target)\""])
    let before = try state()
    for arguments in [
      ["stages", "inspect", library], ["stages", "doctor", library], ["stages", "list"], ["lint"], ["doctor"],
      ["schema"], ["ingest", "--home", "../home", "../in"], ["stages", "run", library, "../in/a"],
    ] {
      let outcome = try SluiceCommand.run(arguments, in: folder, below: "plugins")
      #expect(!outcome.out.contains("reached"), "\(way), \(arguments): \(outcome.out)")
      #expect(try state() == before, "\(way), \(arguments)")
      if arguments[0] == "stages", arguments[1] == "inspect" {
        #expect(outcome.out.contains("held: "), "\(outcome.out)")
      }
    }
    #expect(listener.connections == 0)
    AttackTable.add(
      "\(way) loading", .content, isHeld: try state() == before, "a constructor is in the sandbox")

    // A program that loads the library without a sandbox lets it: the way is one.
    let control = try SluiceCommand.run(
      [
        "-c",
        "import ctypes, sys; l = ctypes.CDLL(sys.argv[1]); l.reach_summary.restype = ctypes.c_char_p; print(l.reach_summary())",
        library,
      ],
      in: folder, program: "/usr/bin/python3")
    // A machine may forbid root to trace.
    let mayBeForbidden = ["trace", "memory"].contains(way)
    #expect(control.out.contains("reached") || mayBeForbidden, "\(way): \(control.out)\(control.err)")
  }

  /// Names, kinds, modes and contents.
  private func state() throws -> [String] {
    var lines: [String] = []
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path + "/elsewhere").sorted() {
      var facts = stat()
      let path = folder.path + "/elsewhere/" + name
      try #require(stat(path, &facts) == 0)
      let text = facts.st_mode & S_IFMT == S_IFREG ? try folder.read("elsewhere/" + name) : ""
      lines.append("\(name) \(facts.st_mode) \(facts.st_nlink) \(text)")
    }
    return lines
  }

  /// Files that an option names are read while the stage opens, wherever they lie.
  @Test func aFileThatAnOptionNamesIsReadAtTheOpening() throws {
    try folder.write("rules/words.txt", "forbidden\n")
    let source = try folder.write("plugins/reading.c", Self.reading)
    let library = folder.path + "/plugins/libsluice-reading.so"
    try #require(
      try FixtureStages.run(
        FixtureStages.compiler,
        [
          "-shared", "-fPIC", "-I", SluiceCommand.projectFolder + "/Sources/Contract/CStage/include", source,
          "-o", library,
        ]) == 0)
    for (path, isNamed) in [("\(folder.path)/rules/words.txt", true), ("\(folder.path)/in/a", false)] {
      let outcome = try SluiceCommand.run(
        [
          "stages", "run", library, "in/a", "--set", "rules=\(folder.path)/rules/words.txt", "--set",
          "reads=\(isNamed ? "" : "x")\(path)",
        ],
        in: folder)
      #expect((outcome.status == 0) == isNamed, "\(outcome.out)\(outcome.err)")
    }
  }

  /// A stage that reads a file at its opening: the one that its option `reads` names, behind an x that hides it.
  private static let reading = """
    #include <sluice/stage.h>
    #include <fcntl.h>
    #include <string.h>
    #include <unistd.h>
    static const sluice_option options[] = {
        {.size = sizeof(sluice_option), .type = SLUICE_TEXT, .shapes = 1, .name = "rules", .help = "A file."},
        {.size = sizeof(sluice_option), .type = SLUICE_TEXT, .shapes = 1, .name = "reads", .help = "What is read."}};
    static sluice_verdict open_stage(const sluice_stage *stage, const sluice_opening *opening, void **instance) {
      (void)stage;
      *instance = (void *)options;
      for (uint32_t i = 0; i < opening->value_count; i++) {
        const char *path = opening->values[i].text;
        if (strcmp(opening->values[i].name, "reads") != 0) continue;
        int file = open(path + (*path == 'x'), O_RDONLY);
        if (file < 0) return SLUICE_FAIL;
        close(file);
      }
      return SLUICE_PASS;
    }
    static sluice_verdict process(void *i, const sluice_attachment *a, sluice_call *c) { (void)i; (void)a; (void)c; return SLUICE_PASS; }
    static void close_stage(void *i) { (void)i; }
    static const sluice_stage stage = {
        .size = sizeof(sluice_stage), .abi_major = SLUICE_ABI_MAJOR, .abi_minor = SLUICE_ABI_MINOR, .id = "reading",
        .version = "1.0.0", .summary = "Reads.", .options = options, .option_count = 2, .open = open_stage, .process = process,
        .close = close_stage};
    const sluice_stage *reading_stage(uint32_t major) { (void)major; return &stage; }
    """
}

/// Sockets that note who connects.
private final class Listener {
  private let sockets: [Int32]
  let port: UInt16

  init(_ path: String) throws {
    let (local, tcp) = (
      socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0), socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    )
    sockets = [local, tcp]
    var name = sockaddr_un()
    name.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: path.utf8.prefix(107)) }
    unlink(path)
    let isBound = withUnsafePointer(to: &name) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(local, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isOpen = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(tcp, $0, size) == 0 && listen(tcp, 8) == 0 && getsockname(tcp, $0, &size) == 0
      }
    }
    port = UInt16(bigEndian: address.sin_port)
    try #require(isBound == 0 && listen(local, 8) == 0 && isOpen)
  }

  deinit { for socket in sockets { close(socket) } }

  /// Those that wait to be accepted.
  var connections: Int {
    sockets.count { socket in
      var waiting = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
      return poll(&waiting, 1, 0) > 0
    }
  }
}
