import Glibc
import LedgerPort
import Platform

// Files that are opened and taken away elsewhere, since a file system may hang.
extension Scheduler {
  func take(_ opening: Source.Opening, of serial: UInt64) {
    let isWanted = sources.answered(serial, at: environment.clock.monotonic())
    let flight = isWanted ? flights[serial] : nil
    switch opening {
    case .opened(let descriptor, let file):
      guard let flight else {
        Glibc.close(descriptor)
        return
      }
      flight.take(descriptor, file)
      line(of: flight)?.opened(flight)
    case .copied(let copy, let file):
      guard let flight else { return copy.close() }
      flight.take(copy, file)
      line(of: flight)?.opened(flight)
    case .failed(let fault):
      guard let flight else { return }
      line(of: flight)?.notOpened(flight, fault)
    case .removed: break
    }
  }

  func dropFiles(_ paths: [String]) {
    if !paths.isEmpty { sources.add(Source(serial: 0, .removal(paths))) }
  }

  /// Has the file of an upload deleted whose attachment is completed. It has its object now.
  func dropUpload(_ source: [UInt8]) {
    guard UploadRecord.isId(source.suffix(32)), source.dropLast(32).last == UInt8(ascii: "/") else { return }
    sources.add(Source(serial: 0, .upload(source, in: environment.uploads)))
  }
}
