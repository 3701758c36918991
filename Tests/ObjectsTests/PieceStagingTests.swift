import CPlatform
import Foundation
import HomeFolder
import LedgerPort
import LedgerSQLite
import Platform
import Testing

@testable import Objects

/// Writing what stages left beside contents to files: of each content all or nothing.
struct PieceStagingTests {
  /// A home with a store, deleted when the test ends.
  private final class Store {
    let home = Home(NSTemporaryDirectory() + "sluice-staging-" + UUID().uuidString)
    let root: Int32
    let objects: FileStore
    var staging: PieceStaging { PieceStaging(objects, uploads: home.uploadsPath) }

    init() throws {
      try home.create()
      try FileManager.default.createDirectory(atPath: home.storePath, withIntermediateDirectories: true)
      root = open(home.storePath, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      objects = FileStore(root: root, home.storePath)
    }

    deinit {
      close(root)
      try? FileManager.default.removeItem(atPath: home.path)
    }

    /// The names of files, relative to the home.
    func files(_ folder: String) -> [String] {
      ((try? FileManager.default.contentsOfDirectory(atPath: "\(home.path)/\(folder)")) ?? []).sorted()
    }
  }

  /// A file with what a worker wrote.
  private static func pieces(_ text: String) throws -> PieceFile {
    let output = sluice_memfd("pieces", 1)
    try #require(output >= 0 && write(output, text, text.utf8.count) == text.utf8.count)
    defer { close(output) }
    return try PieceFile(takingOver: output)
  }

  private static func name(_ derived: String) -> StagedName {
    StagedName(attachmentId: "id-1", Token(holder: 3, number: 4), derived: derived)
  }

  @Test func objectsAndContentsLieInFilesWithTheirHashes() throws {
    let store = try Store()
    let file = try Self.pieces("onetwothree")
    var set = NewPieces()
    set.objects = [
      NewObject(Self.name("a"), FilePart(file, 0..<3)), NewObject(Self.name("b"), FilePart(file, 3..<3)),
    ]
    set.children = [FilePart(file, 3..<6), FilePart(file, 6..<11)]
    let staged = try #require(store.staging.write([set]).first).get()
    #expect(
      staged.hashes.map(Hexadecimal.text) == [
        "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
      ])
    #expect(store.files("store/.incoming") == ["3.4.id-1~a", "3.4.id-1~b"])
    #expect(
      try staged.children.map { try String(contentsOfFile: $0.path, encoding: .utf8) } == ["two", "three"])
    #expect(store.files("uploads") == staged.children.map(\.id).sorted())
  }

  @Test func aNameIsReadAsItIsWritten() {
    for name in [Self.name("a-b"), StagedName(attachmentId: "id-1", Token(holder: 3, number: 4))] {
      let read = StagedName(name.text)
      #expect(read == name && read.derived == name.derived && read.attachmentId == "id-1")
    }
  }

  /// A list may say that a piece is longer than its file is by then.
  @Test func nothingIsLeftOfASetThatCannotBeWritten() throws {
    let store = try Store()
    let file = try Self.pieces("one")
    var bad = NewPieces()
    bad.objects = [
      NewObject(Self.name("a"), FilePart(file, 0..<3)), NewObject(Self.name("b"), FilePart(file, 2..<9)),
    ]
    bad.children = [FilePart(file, 0..<3)]
    var worse = NewPieces()
    worse.objects = [NewObject(Self.name("c"), FilePart(file, 0..<3))]
    worse.children = [FilePart(file, 0..<3), FilePart(file, 1..<9)]
    var good = NewPieces()
    good.objects = [NewObject(Self.name("d"), FilePart(file, 0..<1))]
    good.children = [FilePart(file, 0..<2)]
    let results = store.staging.write([bad, worse, good])
    #expect(throws: SystemError.self) { try results[0].get() }
    #expect(throws: SystemError.self) { try results[1].get() }
    let staged = try results[2].get()
    #expect(store.files("store/.incoming") == ["3.4.id-1~d"])
    #expect(store.files("uploads") == staged.children.map(\.id))
  }

  /// What is on no record goes when a coordinator begins.
  @Test func whatIsOnNoRecordIsTakenAway() throws {
    let store = try Store()
    var set = NewPieces()
    set.objects = [NewObject(Self.name("a"), FilePart(try Self.pieces("one"), 0..<3))]
    _ = try #require(store.staging.write([set]).first).get()
    #expect(try store.objects.recover(try SQLiteLedger(store.home)).isEmpty)
    #expect(store.files("store/.incoming").isEmpty)
  }
}
