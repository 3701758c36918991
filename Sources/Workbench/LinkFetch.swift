import Glibc
import Pipeline
import Platform

/// One content by a link, fetched by a source in a worker of its own.
public enum LinkFetch {
  /// - Parameters:
  ///   - limit: bytes that the content may have.
  ///   - source: its `timeout` is how long it may take.
  ///   - folder: where it lies meanwhile.
  /// - Throws: ``WorkbenchError`` with what the source says, or how its worker ended.
  public static func content(
    of link: String, limit: Int, by source: StageDefinition, _ launch: StageRunner.Launch,
    in folder: ScratchFolder
  ) throws -> [UInt8] {
    let runner = StageRunner(source, launch)
    defer { runner.stop() }
    let bench = SourceBench(runner, limit: Int64(limit), folder)
    let transfer: TriedTransfer
    do {
      transfer = try bench.give(link)
      try bench.finish(transfer, "fetching")
    } catch let end as UnexpectedEnd {
      throw WorkbenchError(.system, "\(end.death)", cause: end)
    }
    guard transfer.isPassed else { throw WorkbenchError(.system, transfer.summary) }
    var bytes = [UInt8](repeating: 0, count: limit)
    let count = pread(transfer.file.descriptor.number, &bytes, bytes.count, 0)
    if count < 0 { throw WorkbenchError(.system, "\(SystemError("reading what was fetched"))") }
    return Array(bytes.prefix(count))
  }
}
