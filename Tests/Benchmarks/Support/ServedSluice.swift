import Glibc
import Platform

/// A running `sluice serve`.
final class ServedSluice {
  let port: UInt16
  let token: String
  let home: String
  private let child: Child

  /// - Parameters:
  ///   - home: the folder, which is made.
  ///   - settings: of `serve` in the pipeline file.
  init(_ home: String, settings: String = "") throws {
    let pipeline = try Sluice.pipeline("serve")
    let text = try Files.text(pipeline)
    try Files.write(text + "serve: { max-size: 1GB\(settings) }\n", to: pipeline)
    let child = try Child(
      [Sluice.program, "serve", "--home", home, "--config", pipeline, "--listen", "127.0.0.1:0"],
      out: Ground.output("serve"))
    func word(after start: String) throws -> String? {
      let said = try Files.text(child.errors)
      guard let place = said.range(of: start) else { return nil }
      let rest = said[place.upperBound...]
      guard let end = rest.firstIndex(where: { $0 == "'" || $0 == "\n" }) else { return nil }
      return String(rest[..<end])
    }
    var found: String?
    while found == nil {
      if child.hasEnded(within: 0.01) || child.age > 60 {
        throw BenchError("sluice serve does not begin: \(Files.tail(child.errors))")
      }
      found = try word(after: "listening on http://127.0.0.1:")
    }
    guard let port = found.flatMap({ UInt16($0) }), let token = try word(after: "Bearer ") else {
      throw BenchError("sluice serve says other things: \(Files.tail(child.errors))")
    }
    (self.home, self.port, self.token, self.child) = (home, port, token, child)
  }

  /// A token of a user's.
  func token(of name: String) throws -> String {
    let made = try Child(
      [Sluice.program, "tokens", "add", name, "--home", home], out: Ground.output("token"))
    try made.end(as: 0)
    return String(try Files.text(made.out).filter { !$0.isWhitespace })
  }

  var pid: pid_t { child.pid }

  /// The process that speaks HTTP.
  func server() throws -> pid_t {
    guard let found = try Processes.children(of: pid, named: "sluice-httpd").first else {
      throw BenchError("there is no sluice-httpd: \(Files.tail(child.errors))")
    }
    return found
  }

  func end() throws {
    child.signal(SIGTERM)
    try child.end(as: 0, within: 60)
  }
}

/// What processes take, from /proc.
enum Processes {
  static func children(of parent: pid_t, named name: String? = nil) throws -> [pid_t] {
    try numbers(in: "/proc").compactMap { pid in
      guard let text = try? Files.text("/proc/\(pid)/stat"), let end = text.lastIndex(of: ")")
      else { return nil }
      let fields = text[text.index(after: end)...].split(separator: " ")
      if let name, !text.contains("(\(name))") { return nil }
      return fields.count > 1 && pid_t(fields[1]) == parent ? pid : nil
    }
  }

  private static func numbers(in folder: String) throws -> [pid_t] {
    guard let listing = opendir(folder) else { throw SystemError("listing \(folder)") }
    defer { closedir(listing) }
    var numbers: [pid_t] = []
    while let entry = readdir(listing) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) {
        String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
      }
      if let number = pid_t(name) { numbers.append(number) }
    }
    return numbers
  }

  /// Seconds of processor time of these, of all their threads that there are.
  static func seconds(_ pids: [pid_t]) throws -> Double {
    var sum = 0.0
    for pid in pids {
      for task in try numbers(in: "/proc/\(pid)/task") {
        let text = (try? Files.text("/proc/\(pid)/task/\(task)/schedstat")) ?? ""
        sum += text.split(separator: " ").first.flatMap { Double($0) } ?? 0
      }
    }
    return sum / 1e9
  }

  /// Bytes of memory of a process that are in no file.
  static func ownMemory(_ pid: pid_t) throws -> Double { try bytes("Anonymous", "/proc/\(pid)/smaps_rollup") }

  /// The most that was resident.
  static func peak(_ pid: pid_t) throws -> Double { try bytes("VmHWM", "/proc/\(pid)/status") }

  private static func bytes(_ name: String, _ file: String) throws -> Double {
    let line = try Files.text(file).split(separator: "\n").first { $0.hasPrefix(name + ":") }
    guard let kilobytes = line.flatMap({ Double($0.filter(\.isNumber)) }) else {
      throw BenchError("\(file) says nothing of \(name)")
    }
    return kilobytes * 1024
  }
}
