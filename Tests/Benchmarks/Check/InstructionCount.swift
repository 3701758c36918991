import Glibc
import Platform

/// Counts the instructions of a process with callgrind. The count does not depend on how busy the machine is.
struct InstructionCount {
  private let valgrind: String
  /// Copies without debug information, which valgrind 3.19 cannot read from these compilers.
  private let binaries: String
  private let folder = Ground.path + "/check"

  init() throws {
    guard let valgrind = Settings.program("valgrind") else {
      throw Skipped(reason: "no valgrind; install valgrind")
    }
    guard let strip = Settings.program("strip") else { throw Skipped(reason: "no strip; install binutils") }
    self.valgrind = valgrind
    binaries = folder + "/bin"
    try Files.delete(folder)
    try Files.makeFolder(binaries)
    var names = ["sluice", "sluice-worker"]
    try Files.walk(Settings.binaries) { path, _ in
      let name = path.split(separator: "/").last.map(String.init) ?? ""
      if name.hasPrefix("libsluice-") && name.hasSuffix(".so") && path == Settings.binaries + "/" + name {
        names.append(name)
      }
    }
    for name in names {
      try Child(
        [strip, "--strip-debug", "-o", "\(binaries)/\(name)", "\(Settings.binaries)/\(name)"],
        out: Ground.output("strip")
      ).end(as: 0)
    }
    try Child(
      [strip, "--strip-debug", "-o", "\(binaries)/sluice-bench", Settings.absolute("/proc/self/exe")],
      out: Ground.output("strip")
    ).end(as: 0)
  }

  /// A path that no other count uses.
  func path(_ name: String) -> String { "\(folder)/\(name)" }

  /// Counts a program of Sluice or this one, without its child processes.
  func count(_ program: String, _ arguments: [String]) throws -> Double {
    let log = path("log")
    try Child(words(log: log) + ["\(binaries)/\(program)"] + arguments, out: Ground.output("check")).end(
      as: 0)
    return try collected(log)
  }

  /// Counts a worker that takes a file through a stage so many times.
  func count(worker stage: String, _ options: [String], _ file: String, times: Int) throws -> Double {
    let log = path("log")
    let tools = path("tools")
    try Files.makeFolder(tools)
    // Sluice runs the `valgrind` of the search path, with memcheck options, in an empty environment.
    let words = words(log: log).map { "'\($0)'" }.joined(separator: " ")
    try Files.write(
      "#!/bin/sh\nwhile [ \"${1#--}\" != \"$1\" ]; do shift; done\nexec \(words) \"$@\"\n",
      to: tools + "/valgrind")
    chmod(tools + "/valgrind", 0o755)
    let path = "\(tools):\(Settings.environment["PATH"] ?? "/usr/bin:/bin")"
    try Child(
      ["\(binaries)/sluice", "stages", "run", "\(binaries)/libsluice-\(stage).so"] + options + [
        file, "--repeat", String(times), "--under", "valgrind",
      ],
      out: Ground.output("check"), environment: ["PATH": path]
    ).end(as: 0)
    return try collected(log)
  }

  func delete() throws { try Files.delete(folder) }

  private func words(log: String) -> [String] {
    [valgrind, "--tool=callgrind", "--callgrind-out-file=/dev/null", "--vgdb=no", "--log-file=\(log)"]
  }

  private func collected(_ log: String) throws -> Double {
    for line in try Files.text(log).split(separator: "\n") where line.contains("Collected : ") {
      if let count = line.split(separator: " ").last.flatMap({ Double($0) }) { return count }
    }
    throw BenchError("valgrind counted nothing: \(Files.tail(log))")
  }
}
