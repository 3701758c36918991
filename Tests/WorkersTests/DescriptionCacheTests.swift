import Foundation
import Pipeline
import Platform
import Testing
import Wire
import Workers

/// What plugins said they are, kept from one start to the next.
final class DescriptionCacheTests: Sendable {
  private let path = NSTemporaryDirectory() + "sluice-cache-" + UUID().uuidString
  private var folder: String { path + "/cache/sluice" }
  private var file: String { folder + "/plugins" }
  private var worker: String { path + "/sluice-worker" }

  init() throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    try write("sluice-worker", "a worker")
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }

  @discardableResult
  private func write(_ name: String, _ text: String) throws -> String {
    try Data(text.utf8).write(to: URL(fileURLWithPath: path + "/" + name))
    return path + "/" + name
  }

  private func cache() -> DescriptionCache { DescriptionCache(in: folder, worker: worker) }

  private func description(_ id: String, _ file: String) -> StageDescription {
    var description = StageDescription(id: id, version: "1.2.3", summary: "Does \(id).", file: file)
    description.abi = "1.0"
    description.capability = .network
    description.role = .channel
    (description.flushes, description.produces) = (true, true)
    var option = OptionDescription(name: "max", kind: .integer, shapes: .list, help: "How many.")
    (option.required, option.fallback, option.choices, option.range) = (true, "7", ["7", "8"], 7...8)
    description.options = [option]
    description.keys = [.init(name: "pages", help: "How many pages.")]
    description.codes = [.init(name: "too-large", help: "It is too large.")]
    return description
  }

  /// Keeps a plugin's description, as if its file had been there for a while.
  @discardableResult
  private func keep(_ id: String = "one") throws -> String {
    let plugin = try write(id + ".so", "plugin \(id)")
    var cache = cache()
    let stamp = try #require(FileStamp(of: plugin))
    cache.keep(description(id, plugin), stamp, asked: Clock.now() + 10_000)
    cache.save()
    return plugin
  }

  private func known(_ id: String, _ plugin: String) -> StageDescription? {
    cache().description(PluginQuestion(id: id, file: plugin))
  }

  // MARK: Found again

  @Test func aDescriptionIsTheSameAtTheNextStart() throws {
    let one = try keep("one")
    let two = try keep("two")
    #expect(known("one", one) == description("one", one))
    #expect(known("two", two) == description("two", two))
    let facts = try FileManager.default.attributesOfItem(atPath: file)
    #expect(facts[.posixPermissions] as? Int == 0o600)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["plugins"])
  }

  @Test func aPluginIsKnownByItsPathItsIdAndItsFile() throws {
    let plugin = try keep()
    #expect(known("other", plugin) == nil)
    let twin = path + "/twin.so"
    try FileManager.default.linkItem(atPath: plugin, toPath: twin)
    #expect(known("one", twin) == nil, "another path, and the link has changed the file as well")
  }

  @Test func aPluginThatIsBuiltAnewIsAskedAnew() throws {
    let plugin = try keep()
    let date = try #require(FileManager.default.attributesOfItem(atPath: plugin)[.modificationDate] as? Date)
    try FileManager.default.removeItem(atPath: plugin)
    try write("one.so", "plugin ONE")
    try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: plugin)
    #expect(known("one", plugin) == nil)
    try keep()
    #expect(known("one", plugin) != nil)
    try FileManager.default.removeItem(atPath: plugin)
    #expect(known("one", plugin) == nil)
  }

  @Test func whatAnotherWorkerAskedIsAskedAnew() throws {
    let plugin = try keep()
    let other = try write("another-worker", "another one, of the same size as this")
    var others = DescriptionCache(in: folder, worker: other)
    #expect(others.description(PluginQuestion(id: "one", file: plugin)) == nil)
    let stamp = try #require(FileStamp(of: plugin))
    others.keep(description("one", plugin), stamp, asked: Clock.now() + 10_000)
    others.save()
    #expect(known("one", plugin) != nil, "two installations side by side")
    try write("sluice-worker", "a newer worker")
    #expect(known("one", plugin) == nil)
  }

  @Test func aPluginThatWasChangedJustNowOrMeanwhileIsNotKept() throws {
    let plugin = try write("one.so", "plugin")
    let stamp = try #require(FileStamp(of: plugin))
    var early = cache()
    early.keep(description("one", plugin), stamp, asked: Clock.now())
    early.save()
    #expect(known("one", plugin) == nil && !FileManager.default.fileExists(atPath: file))
    try write("one.so", "another plugin")
    var late = cache()
    late.keep(description("one", plugin), stamp, asked: Clock.now() + 10_000)
    late.save()
    #expect(known("one", plugin) == nil)
  }

  @Test func theOldestGoWhereThereAreTooMany() throws {
    var cache = cache()
    var plugins: [String] = []
    for number in 0..<300 {
      let plugin = try write("p\(number).so", "plugin")
      plugins.append(plugin)
      let stamp = try #require(FileStamp(of: plugin))
      cache.keep(description("p\(number)", plugin), stamp, asked: Clock.now() + 10_000)
    }
    cache.save()
    let found = plugins.indices.filter { known("p\($0)", plugins[$0]) != nil }
    #expect(found == Array(44..<300))
  }

  // MARK: Damaged, hostile, out of reach

  @Test func aDamagedFileIsMadeAnew() throws {
    let plugin = try keep()
    let whole = try Data(contentsOf: URL(fileURLWithPath: file))
    func damage(_ data: Data) throws {
      try data.write(to: URL(fileURLWithPath: file))
      chmod(file, 0o600)
      #expect(known("one", plugin) == nil)
    }
    for place in whole.indices {
      var other = whole
      other[place] ^= 0x20
      try damage(other)
    }
    for count in stride(from: 0, to: whole.count, by: 7) { try damage(whole.prefix(count)) }
    try damage(whole + Data([0]))
    try damage(Data(count: 2 << 20))
    try keep()
    #expect(known("one", plugin) == description("one", plugin))
  }

  @Test func aFileThatOthersMayHaveWrittenCountsForNothing() throws {
    let plugin = try keep()
    for (path, mode) in [(file, 0o620), (file, 0o602), (folder, 0o770), (folder, 0o707)] as [(String, mode_t)]
    {
      let usual: mode_t = path == file ? 0o600 : 0o700
      chmod(path, mode)
      #expect(known("one", plugin) == nil, "\(path) \(mode)")
      chmod(path, usual)
      #expect(known("one", plugin) != nil)
    }
    try FileManager.default.moveItem(atPath: file, toPath: path + "/elsewhere")
    try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: path + "/elsewhere")
    #expect(known("one", plugin) == nil, "a link")
    unlink(file)
    try #require(mkfifo(file, 0o600) == 0)
    #expect(known("one", plugin) == nil, "a FIFO, for which it does not wait")
  }

  @Test(.enabled(if: geteuid() == 0))
  func nothingOfAnotherUserIsReadOrWritten() throws {
    let plugin = try keep()
    for path in [file, folder] {
      chown(path, 65534, 65534)
      #expect(known("one", plugin) == nil, "\(path)")
      chown(path, 0, 0)
    }
    try FileManager.default.removeItem(atPath: path + "/cache")
    chown(path, 65534, 65534)
    try keep()
    #expect(!FileManager.default.fileExists(atPath: path + "/cache"), "made in another user's folder")
  }

  @Test func aFolderThatCannotBeMadeIsDoneWithout() throws {
    try write("cache", "in its place")
    let plugin = try keep()
    #expect(known("one", plugin) == nil)
    try FileManager.default.removeItem(atPath: path + "/cache")
    try FileManager.default.createDirectory(atPath: file, withIntermediateDirectories: true)
    chmod(folder, 0o700)
    try keep()
    #expect(known("one", plugin) == nil)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: folder) == ["plugins"], "nothing is left over")
  }

  @Test func startsSideBySideLeaveAWholeFile() throws {
    let plugins = try (0..<4).map { try write("p\($0).so", "plugin \($0)") }
    DispatchQueue.concurrentPerform(iterations: 64) { round in
      let number = round % 4
      guard let stamp = FileStamp(of: plugins[number]) else { return }
      var cache = cache()
      cache.keep(description("p\(number)", plugins[number]), stamp, asked: Clock.now() + 10_000)
      cache.save()
    }
    // Of the last writer everything is there; what others added in the meantime may be missing.
    #expect(plugins.indices.contains { known("p\($0)", plugins[$0]) != nil })
  }

  // MARK: Where it is

  @Test(
    arguments: [
      ([:], nil), (["HOME": "/home/ann"], "/home/ann/.cache/sluice"),
      (["HOME": "/home/ann", "XDG_CACHE_HOME": "/tmp/c"], "/tmp/c/sluice"),
      (["HOME": "/home/ann", "XDG_CACHE_HOME": ""], "/home/ann/.cache/sluice"),
      (["HOME": "ann", "XDG_CACHE_HOME": "c"], nil),
    ] as [([String: String], String?)])
  func theFolderIsTheUsers(environment: [String: String], folder: String?) {
    #expect(PluginSearch.cacheFolder(environment) == folder)
  }
}
