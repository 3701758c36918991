import Foundation
import Glibc

/// The library that is preloaded into a coordinator and its workers, and the page it shares with the tests.
/// See Tests/Fixtures/Faults/faults.h for the layout.
final class FaultLibrary {
  enum Action: UInt32 {
    case none = 0, killBefore, killAfter, fail, short
  }

  /// A fault: at the nth call whose point begins with `match`.
  struct Fault {
    /// `coordinator fdatasync wal`, or `* fsync` for any process.
    var match: String
    var nth: Int
    var action: Action
    var error: Int32 = 0
    /// At every call from the nth on.
    var isForever = false
  }

  /// A place where a process makes a system call.
  struct Point {
    var name: String
    var count: Int
  }

  let home: String
  private let file: String
  private let journal: String?
  private let page: UnsafeMutableRawPointer

  private static let points = 512
  private static let nameSize = 56
  private static let matchAt = 40
  private static let pointsAt = 96
  private static let pageSize = pointsAt + points * (nameSize + 8)

  /// - Parameters:
  ///   - folder: the folder for the page.
  ///   - home: the absolute path below which files count.
  ///   - journal: the path of a journal of file operations; `nil`: none.
  init(_ folder: TemporaryFolder, home: String, journal: String? = nil) throws {
    self.home = home
    self.journal = journal
    file = folder.path + "/.faults"
    try Data(count: Self.pageSize).write(to: URL(fileURLWithPath: file))
    let descriptor = open(file, O_RDWR | O_CLOEXEC)
    defer { close(descriptor) }
    guard let mapped = mmap(nil, Self.pageSize, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0),
      mapped != MAP_FAILED
    else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    page = mapped
  }

  deinit {
    munmap(page, Self.pageSize)
  }

  var keepsJournal: Bool { journal != nil }

  /// The environment that preloads the library.
  func environment() throws -> [String: String] {
    var environment = ["LD_PRELOAD": try Self.made.get(), "FAULTS_PAGE": file, "FAULTS_HOME": home]
    if let journal { environment["FAULTS_JOURNAL"] = journal }
    return environment
  }

  /// Sets the next fault, and resets the counts.
  func set(_ fault: Fault?) {
    memset(page, 0, Self.pageSize)
    guard let fault else { return }
    page.storeBytes(of: fault.error, toByteOffset: 4, as: Int32.self)
    page.storeBytes(of: fault.isForever ? 1 : 0, toByteOffset: 8, as: UInt32.self)
    page.storeBytes(of: UInt64(fault.nth), toByteOffset: 16, as: UInt64.self)
    for (index, byte) in fault.match.utf8.prefix(Self.nameSize - 1).enumerated() {
      page.storeBytes(of: byte, toByteOffset: Self.matchAt + index, as: UInt8.self)
    }
    page.storeBytes(of: fault.action.rawValue, toByteOffset: 0, as: UInt32.self)
  }

  /// Whether the fault was made.
  var hasFired: Bool { page.load(fromByteOffset: 32, as: UInt64.self) > 0 }

  /// Every point that was reached, and how often.
  var points: [Point] {
    let count = min(Int(page.load(fromByteOffset: 12, as: UInt32.self)), Self.points)
    var points: [String: Int] = [:]
    for index in 0..<count {
      let place = page + Self.pointsAt + index * (Self.nameSize + 8)
      let name = String(
        decoding: UnsafeRawBufferPointer(start: place, count: Self.nameSize).prefix { $0 != 0 }, as: UTF8.self
      )
      points[name, default: 0] += Int(place.load(fromByteOffset: Self.nameSize, as: UInt64.self))
    }
    return points.map { Point(name: $0.key, count: $0.value) }.sorted { $0.name < $1.name }
  }

  /// The library, compiled once for all tests.
  private static let made = Result<String, any Error> {
    let library = NSTemporaryDirectory() + "sluice-faults-\(getpid()).so"
    atexit { unlink(NSTemporaryDirectory() + "sluice-faults-\(getpid()).so") }
    let source = SluiceCommand.projectFolder + "/Tests/Fixtures/Faults/faults.c"
    let status = try FixtureStages.run(
      FixtureStages.compiler, ["-shared", "-fPIC", "-O1", "-Wall", "-Werror", source, "-o", library])
    if status != 0 { throw FixtureStages.DoesNotCompile(name: "faults.c") }
    return library
  }
}
