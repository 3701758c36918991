import CStage
import Configuration
import Glibc
import Pipeline
import Platform
import Wire

/// Where plugins are looked for, and what is found.
///
/// A stage `x` is a file `libsluice-x.so` or `x.so`, or a folder `x` with a `stage.yaml`, which makes a program a stage. The first
/// folder that has it counts: those beside the binary, those of `$SLUICE_PLUGIN_PATH`, those the pipeline names, then
/// `/usr/lib/sluice/plugins`.
public struct PluginSearch: Sendable {
  public let folders: [String]
  public let worker: String
  /// The program that speaks HTTP.
  public let server: String

  /// - Parameter named: the pipeline's own folders.
  public init(named: [String], environment: [String: String]) throws(SystemError) {
    let here = try Self.ownFolder()
    let path = environment["SLUICE_PLUGIN_PATH", default: ""].split(separator: ":").map(String.init)
    folders = [here] + path + named + ["/usr/lib/sluice/plugins"]
    worker = here + "/sluice-worker"
    server = here + "/sluice-httpd"
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
    // Built in: what is started stands in the pipeline.
    if stage == StageDescription.exec.id { return StageDescription.exec.file }
    return candidates(of: stage).first { access($0, F_OK) == 0 }
  }

  /// Other files of the same stage, which the one that is found first hides.
  public func hiddenFiles(of stage: String) -> [String] {
    var seen: Set<[UInt64]> = []
    let files = candidates(of: stage).filter { file in
      var facts = stat()
      // A folder may be named twice, and a file may have two names.
      return stat(file, &facts) == 0 && seen.insert([UInt64(facts.st_dev), UInt64(facts.st_ino)]).inserted
    }
    return Array(files.dropFirst())
  }

  private func candidates(of stage: String) -> [String] {
    folders.flatMap {
      ["\($0)/libsluice-\(stage).so", "\($0)/\(stage).so", "\($0)/\(stage)/\(StageFile.name)"]
    }
  }

  /// The id of the stage in a plugin's file: its name without folder, `libsluice-` and `.so`; of a program its folder's name.
  public static func id(ofFile path: String) -> String {
    let parts = path.split(separator: "/")
    if ProgramFile.isOne(path) { return String(parts.dropLast().last ?? "") }
    let name = parts.last ?? ""
    return String((name.hasSuffix(".so") ? name.dropLast(3) : name).drop(prefix: "libsluice-"))
  }

  /// Every plugin file there is, by stage id, the first folder's first; before them what is built in.
  public func all() -> [(id: String, file: String)] {
    var found = [(id: StageDescription.exec.id, file: StageDescription.exec.file)]
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
    return names.sorted().compactMap { name in
      if name.hasSuffix(".so") { return name.hasPrefix("libsluice-") || !isOwn ? "\(folder)/\(name)" : nil }
      let file = "\(folder)/\(name)/\(StageFile.name)"
      return !name.hasPrefix(".") && access(file, F_OK) == 0 ? file : nil
    }
  }

  /// Asks workers what these files are. A plugin that crashes or hangs while it loads harms no other.
  ///
  /// - Parameter major: the ABI to ask for; what a plugin does with a foreign one can so be tried.
  public func describe(
    _ plugins: [(id: String, file: String)], major: UInt32 = SLUICE_ABI_MAJOR
  ) -> [String: Result<StageDescription, Refusal>] {
    let (distrusted, plugins) = distrusted(plugins)
    let (programs, libraries) = ProgramFile.split(plugins)
    var inquiry = PluginInquiry(
      libraries.map { PluginQuestion(id: $0.id, file: $0.file) }, worker: worker, major: major)
    let described = libraries.isEmpty ? [:] : inquiry.run()
    return described.merging(programs) { $1 }.merging(distrusted) { $1 }
  }

  /// Refuses plugins that others could change: to load one is to run what they wrote. The plugins beside this program are as good
  /// as the program.
  private func distrusted(
    _ plugins: [(id: String, file: String)]
  ) -> (refused: [String: Result<StageDescription, Refusal>], others: [(id: String, file: String)]) {
    var refused: [String: Result<StageDescription, Refusal>] = [:]
    let others = plugins.filter { id, file in
      let isBeside = folders.first.map { file.hasPrefix($0 + "/") } ?? false
      if isBeside || file == StageDescription.exec.file { return true }
      guard let problem = TrustedPath.problem(with: file) else { return true }
      refused[id] = .failure(
        Refusal(
          stage: id,
          message:
            "\(file) is not loaded: \(problem); to load it all the same, run this again with `--trust \(file)`"
        ))
      return false
    }
    return (refused, others)
  }

  /// As ``describe(_:major:)``, but asks only those plugins that are not known from before.
  ///
  /// - Parameter folder: where what they said is kept; `nil`: all are asked.
  public func describe(
    _ plugins: [(id: String, file: String)], keptIn folder: String?
  ) -> [String: Result<StageDescription, Refusal>] {
    guard let folder else { return describe(plugins) }
    var cache = DescriptionCache(in: folder, worker: worker)
    let (distrusted, plugins) = distrusted(plugins)
    var (known, libraries) = ProgramFile.split(plugins)
    for (id, file) in libraries {
      known[id] = cache.description(PluginQuestion(id: id, file: file)).map { .success($0) }
    }
    let unknown = plugins.filter { known[$0.id] == nil }
    if unknown.isEmpty { return known.merging(distrusted) { $1 } }
    let asked = Clock.now()
    let stamps = unknown.map { FileStamp(of: $0.file) }
    let answers = describe(unknown)
    for ((id, _), stamp) in zip(unknown, stamps) {
      if case .success(let description)? = answers[id], let stamp {
        cache.keep(description, stamp, asked: asked)
      }
    }
    cache.save()
    return known.merging(answers) { $1 }.merging(distrusted) { $1 }
  }

  /// Where a user's cache of descriptions is, after the XDG Base Directory Specification: `$XDG_CACHE_HOME/sluice`, else
  /// `$HOME/.cache/sluice`; `nil`: neither is set to an absolute path.
  public static func cacheFolder(_ environment: [String: String]) -> String? {
    func path(_ name: String) -> String? { environment[name].flatMap { $0.hasPrefix("/") ? $0 : nil } }
    return (path("XDG_CACHE_HOME") ?? path("HOME").map { $0 + "/.cache" }).map { $0 + "/sluice" }
  }
}

extension Substring {
  /// Without these letters at its beginning, if it has them.
  fileprivate func drop(prefix: String) -> Substring { hasPrefix(prefix) ? dropFirst(prefix.count) : self }
}
