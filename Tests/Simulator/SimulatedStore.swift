import Objects
import Platform

/// A store in memory, whose latest renames a power loss takes back.
final class SimulatedStore: ObjectStore {
  unowned var world: World!
  let name = "the store"
  /// Contents, by staged name and by path.
  private(set) var stagedContents: [String: String] = [:]
  private(set) var objects: [String: String] = [:]
  /// Staged and not yet synced.
  private var unsynced: Set<String> = []
  /// What was done since the coordinator began, to be taken back from its end.
  private var undo: [(path: String, body: () -> Void)] = []

  var isEmpty: Bool { stagedContents.isEmpty && objects.isEmpty }
  func digest(ofStaged name: StagedName) -> [UInt8]? {
    stagedContents[name.text].flatMap { Hexadecimal.bytes(Chance.digest(of: $0)) }
  }
  /// There are no files.
  func adopt(_ file: String, open descriptor: Int32, as name: StagedName) -> String? { nil }
  func isStaged(_ name: StagedName) -> Bool { stagedContents[name.text] != nil }
  func staged() -> [StagedName] { stagedContents.keys.sorted().map { StagedName($0) } }
  func standing(of path: String) -> ObjectStanding { objects[path] == nil ? .free : .taken }

  func open(_ path: String) -> Descriptor? { nil }
  func list(after path: String?) -> any ObjectListing { Nothing() }

  func delete(_ paths: [String]) -> [SystemError?] {
    paths.map { path in
      if world.isUnder(.storeAway) { return SystemError("deleting the object \(path)", code: 5) }
      // It has ended, and nobody hears of it.
      guard world.takesEffect("delete") else { return SystemError("deleting the object \(path)", code: 5) }
      // Synced: a power loss takes neither this back nor what was done to the path before.
      undo.removeAll { $0.path == path }
      objects[path] = nil
      world.trace.note("delete \(path)")
      return nil
    }
  }

  /// A coordinator does not ask which objects there are.
  private final class Nothing: ObjectListing {
    func next(_ limit: Int) -> [ListedObject] { [] }
  }

  func publish(_ object: StagedObject) throws(SystemError) {
    let (id, path) = (object.name.text, object.path)
    if world.isUnder(.storeAway) { throw SystemError("naming the object \(path)", code: 5) }
    guard world.takesEffect("publish") else { return }
    guard let content = stagedContents[id] else {
      if objects[path] == nil { throw SystemError("naming the object \(path)", code: 2) }
      return
    }
    let other = objects[path]
    if let other, other != content { throw SystemError("naming the object \(path)", code: 17) }
    objects[path] = content
    stagedContents[id] = nil
    undo.append((path, { [unowned self] in (objects[path], stagedContents[id]) = (other, content) }))
    world.trace.note("publish \(path)")
  }

  func discard(_ name: StagedName) {
    let id = name.text
    guard let content = stagedContents[id], world.takesEffect("discard") else { return }
    stagedContents[id] = nil
    undo.append(("", { [unowned self] in stagedContents[id] = content }))
  }

  // MARK: What stages derive

  /// As the machine does it: all is synced before it is told.
  func stage(_ sets: [[NewObject]]) -> [Result<[[UInt8]], SystemError>] {
    let results = sets.map { objects in
      Result { () throws(SystemError) in try objects.map { (one) throws(SystemError) in try stage(one) } }
    }
    sync()
    return results
  }

  private func stage(_ object: NewObject) throws(SystemError) -> [UInt8] {
    if world.isUnder(.storeAway) { throw SystemError("writing the object \(object.name)", code: 5) }
    var bytes: [UInt8] = []
    try object.content.each { bytes += $0 }
    let content = String(decoding: bytes, as: UTF8.self)
    stage(object.name.text, content)
    world.trace.note("stage \(object.name)")
    return Hexadecimal.bytes(Chance.digest(of: content)) ?? []
  }

  // MARK: What stages do

  func stage(_ id: String, _ content: String) {
    guard world.takesEffect("stage") else { return }
    stagedContents[id] = content
    unsynced.insert(id)
  }

  func sync() {
    guard world.takesEffect("sync") else { return }
    unsynced.removeAll()
  }

  // MARK: The end of a coordinator

  /// - Parameter lost: how many of the latest changes are lost, at most.
  func endLife(lost: Int) {
    if lost > 0 {
      for id in unsynced { stagedContents[id] = nil }
      for change in undo.suffix(lost).reversed() { change.body() }
    }
    unsynced.removeAll()
    undo.removeAll()
  }
}
