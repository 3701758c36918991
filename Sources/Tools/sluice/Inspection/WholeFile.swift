import CPlatform
import Glibc
import HomeFolder
import LedgerPort
import Platform

/// A file that a command writes for the user. It has its name once it is whole and synced; until then it has a temporary one in
/// the same folder, and it is gone if it was not finished.
final class WholeFile {
  private let path: String
  private let partial: String
  private let replaces: Bool
  private let descriptor: Descriptor
  /// Reads SIGINT, SIGTERM and SIGHUP, so that the temporary file goes in that case, too.
  private let signals: Int32
  private var isFinished = false

  /// - Parameters:
  ///   - path: where the file is to be. Nothing but a regular file is replaced, and none of the home's own files.
  ///   - replaces: whether a file that is there is replaced.
  init(_ path: String, replaces: Bool, outside home: Home) throws {
    self.path = path
    self.replaces = replaces
    let shown = Terminal.printable(path)
    if path.isEmpty || path.hasSuffix("/") {
      throw CommandError.usage("'\(shown)' names no file; give a FILE")
    }
    if let name = OwnFiles(of: home).name(of: path) {
      throw CommandError.usage("\(shown) is the \(name) of this home; give another FILE")
    }
    var facts = stat()
    if lstat(path, &facts) == 0 {
      switch facts.st_mode & S_IFMT {
      case S_IFDIR: throw CommandError.usage("\(shown) is a folder; give a FILE in it")
      case S_IFREG where replaces: break
      case S_IFREG:
        throw CommandError.usage("\(shown) is there already; give another FILE, or --force to replace it")
      default:
        throw CommandError.usage(
          "\(shown) is no regular file, and stays as it is; give another FILE, or write to standard output")
      }
    }
    let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "./"
    partial = "\(folder).sluice-\(getpid())-\(String(UInt32.random(in: 0...UInt32.max), radix: 16)).partial"
    do throws(SystemError) {
      descriptor = try Descriptor.open(partial, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o666)
    } catch {
      throw CommandError(.configuration, "\(shown) cannot be written: \(error.reason); give another FILE")
    }
    signals = sluice_signalfd()
  }

  deinit {
    if !isFinished { unlink(partial) }
    if signals >= 0 { close(signals) }
  }

  func write(_ text: String) throws {
    var text = text
    try text.withUTF8 { try write(UnsafeRawBufferPointer($0)) }
  }

  func write(_ bytes: UnsafeRawBufferPointer) throws {
    if signals >= 0, sluice_signal_take(signals) != 0 {
      throw CommandError(.temporary, "interrupted; \(Terminal.printable(path)) was not written")
    }
    var rest = bytes
    while !rest.isEmpty {
      let count = Glibc.write(descriptor.number, rest.baseAddress, rest.count)
      if count < 0 && errno == EINTR { continue }
      if count < 0 { throw failure("writing") }
      rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
    }
  }

  /// Syncs the file and gives it its name.
  func finish() throws {
    if fsync(descriptor.number) != 0 { throw failure("syncing") }
    let result = replaces ? rename(partial, path) : sluice_rename_new(AT_FDCWD, partial, AT_FDCWD, path)
    if result != 0 { throw failure("naming") }
    isFinished = true
    let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
    let opened = try Descriptor.open(folder, O_RDONLY | O_DIRECTORY)
    if fsync(opened.number) != 0 { throw failure("syncing the folder of") }
  }

  private func failure(_ action: String) -> any Error {
    let error = SystemError("\(action) \(Terminal.printable(path))")
    if error.code == ENOSPC || error.code == EDQUOT { return CommandError(.temporary, error.advice) }
    return error
  }
}
