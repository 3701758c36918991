import CStage
import Glibc
import Pipeline
import Platform
import Wire

/// Where plugins are looked for, and what is found.
///
/// A stage `x` is a file `libsluice-x.so` or `x.so`. The first folder that has it counts: those beside the binary, those
/// of `$SLUICE_PLUGIN_PATH`, those the pipeline names, then `/usr/lib/sluice/plugins`.
public struct PluginSearch: Sendable {
  public let folders: [String]
  public let worker: String

  /// - Parameter named: the pipeline's own folders.
  public init(named: [String], environment: [String: String]) throws(SystemError) {
    let here = try Self.ownFolder()
    let path = environment["SLUICE_PLUGIN_PATH", default: ""].split(separator: ":").map(String.init)
    folders = [here] + path + named + ["/usr/lib/sluice/plugins"]
    worker = here + "/sluice-worker"
  }

  private static func ownFolder() throws(SystemError) -> String {
    var room = [CChar](repeating: 0, count: 4096)
    let count = readlink("/proc/self/exe", &room, room.count)
    if count <= 0 { throw SystemError("finding this program's folder") }
    let path = String(decoding: room[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
  }

  /// The file of a stage; `nil`: none.
  public func file(of stage: String) -> String? {
    for folder in folders {
      for name in ["libsluice-\(stage).so", "\(stage).so"] where access("\(folder)/\(name)", F_OK) == 0 {
        return "\(folder)/\(name)"
      }
    }
    return nil
  }

  /// The id of the stage in a plugin's file: its name without folder, `libsluice-` and `.so`.
  public static func id(ofFile path: String) -> String {
    let name = path.split(separator: "/").last ?? ""
    return String((name.hasSuffix(".so") ? name.dropLast(3) : name).drop(prefix: "libsluice-"))
  }

  /// Every plugin file there is, by stage id, the first folder's first.
  public func all() -> [(id: String, file: String)] {
    var found: [(id: String, file: String)] = []
    for folder in folders {
      for file in files(in: folder) {
        let id = Self.id(ofFile: file)
        if !found.contains(where: { $0.id == id }) { found.append((id, file)) }
      }
    }
    return found
  }

  /// Every plugin file in one of the folders. Beside the binary there are libraries of other kinds, too.
  public func files(in folder: String) -> [String] {
    guard let listing = opendir(folder) else { return [] }
    defer { closedir(listing) }
    var names: [String] = []
    while let entry = readdir(listing) {
      names.append(
        withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) })
    }
    let isOwn = folder == folders.first
    return names.sorted().filter { $0.hasSuffix(".so") && ($0.hasPrefix("libsluice-") || !isOwn) }.map {
      "\(folder)/\($0)"
    }
  }

  /// Asks workers what these files are: two, side by side, for most of it is to start a process. A plugin that crashes or
  /// hangs while it loads harms nobody: those behind it are asked anew.
  ///
  /// - Parameter major: the ABI to ask for; what a plugin does with a foreign one can so be tried.
  public func describe(
    _ plugins: [(id: String, file: String)], major: UInt32 = SLUICE_ABI_MAJOR
  ) -> [String: Result<StageDescription, Refusal>] {
    var results: [String: Result<StageDescription, Refusal>] = [:]
    var waiting = (0..<2).map { part in plugins.indices.filter { $0 % 2 == part }.map { plugins[$0] } }
    while waiting.contains(where: { !$0.isEmpty }) {
      let asked = waiting.map { plugins in (plugins, plugins.isEmpty ? nil : ask(plugins, major, &results)) }
      waiting = asked.map { plugins, process in process.map { hear($0, plugins, &results) } ?? [] }
    }
    return results
  }

  private func ask(
    _ plugins: [(id: String, file: String)], _ major: UInt32,
    _ results: inout [String: Result<StageDescription, Refusal>]
  ) -> WorkerProcess? {
    do throws(SystemError) {
      let files = plugins.flatMap { [$0.file, $0.id] }
      return try WorkerProcess(
        executable: worker, words: ["describe", String(getpid()), String(major)] + files)
    } catch {
      for plugin in plugins { results[plugin.id] = .failure(Refusal(stage: plugin.id, message: "\(error)")) }
      return nil
    }
  }

  /// Takes a worker's answers. Returns those it came to no answer for.
  private func hear(
    _ process: WorkerProcess, _ plugins: [(id: String, file: String)],
    _ results: inout [String: Result<StageDescription, Refusal>]
  ) -> [(id: String, file: String)] {
    defer {
      process.kill()
      process.reap()
    }
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: Frame.limit, alignment: 8)
    defer { room.deallocate() }
    for (index, (id, file)) in plugins.enumerated() {
      var waiting = pollfd(fd: process.socket, events: Int16(POLLIN), revents: 0)
      let refusal = { (text: String) in Refusal(stage: id, message: "\(file): \(text)") }
      if poll(&waiting, 1, 10_000) <= 0 {
        results[id] = .failure(refusal("does not load within 10s"))
        return Array(plugins[(index + 1)...])
      }
      guard case .frame(let count) = process.receive(into: room) else {
        // What was loaded before it may have a part in this: it is asked once more, first.
        if index > 0 { return Array(plugins[index...]) }
        results[id] = .failure(refusal("takes its process down while it loads: \(end(of: process, id, file))"))
        return Array(plugins[1...])
      }
      do throws(FrameError) {
        results[id] = try answer(UnsafeRawBufferPointer(rebasing: room[..<count]), file)
      } catch {
        results[id] = .failure(refusal("answers with a description that is not one: \(error)"))
      }
    }
    return []
  }

  private func answer(
    _ frame: UnsafeRawBufferPointer, _ file: String
  ) throws(FrameError) -> Result<StageDescription, Refusal> {
    var reader = FrameReader(frame)
    switch try reader.kind() {
    case .description: return .success(try StageDescription(&reader, file: file))
    case .refusal: return .failure(try Refusal(&reader))
    default: throw FrameError("another kind of frame")
    }
  }

  /// What ended a process that has closed its socket.
  private func end(of process: WorkerProcess, _ id: String, _ file: String) -> String {
    var cause = process.ended()
    for _ in 0..<100 where cause == nil {
      usleep(1000)
      cause = process.ended()
    }
    let stage = StageDefinition(
      id: id, description: .init(id: id, version: "", summary: "", file: file), values: [])
    return WorkerDeath(cause ?? .exited(0), lastWords: process.lastWords).message(in: stage)
  }
}

extension Substring {
  /// Without these letters at its beginning, if it has them.
  fileprivate func drop(prefix: String) -> Substring { hasPrefix(prefix) ? dropFirst(prefix.count) : self }
}
