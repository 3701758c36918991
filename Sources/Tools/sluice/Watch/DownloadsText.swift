import LedgerPort
import Pipeline
import Platform
import Scheduler

/// What is fetched, for people and for programs.
enum DownloadsText {
  /// One line for all, and one for each of the first.
  static func lines(_ downloads: DownloadsAtWork, width: Int, atMost limit: Int) -> [String] {
    let transfers = downloads.transfers
    if transfers.isEmpty || limit < 2 { return [] }
    let shown = transfers.prefix(transfers.count < limit ? limit : limit - 2)
    var lines = ["fetching \(transfers.count) at \(ByteSize.rounded(downloads.rate))/s"]
    lines += shown.map { line($0, width: width) }
    if shown.count < transfers.count { lines.append("  and \(transfers.count - shown.count) more") }
    return lines
  }

  private static func line(_ transfer: DownloadsAtWork.Transfer, width: Int) -> String {
    var facts = ByteSize.rounded(transfer.bytes)
    if let total = transfer.total {
      let percent = total > 0 ? Int64(Double(min(transfer.bytes, total)) / Double(total) * 100) : 100
      facts += " of \(ByteSize.rounded(total))  \(percent) %"
    }
    if transfer.isHeld { facts += "  held" }
    let name = Terminal.printable(
      transfer.fileName == IntakeItem.unnamed || transfer.fileName.isEmpty ? transfer.link : transfer.fileName
    )
    let room = max(width - facts.count - 6, 8)
    return "  \(Help.pad(name.count > room ? name.prefix(room - 1) + "…" : name, min(room, 32)))  \(facts)"
  }

  /// The members of a record.
  static func members(_ downloads: DownloadsAtWork?, _ status: LedgerStatus, _ writer: inout JSONWriter) {
    let lane = status.lanes.first { $0.name == .downloads }
    let active = downloads?.transfers.count ?? 0
    writer.member(
      "processing", lane?.pause == nil && (active > 0 || (lane?.due ?? 0) + (lane?.leased ?? 0) > 0))
    writer.member("paused", lane?.pause?.code)
    writer.member("active", Int64(active))
    writer.member(
      "queued", Int64(max((lane?.due ?? 0) + (lane?.scheduled ?? 0) + (lane?.leased ?? 0) - active, 0)))
    writer.member("failed", status.failedDownloads)
    writer.member("bytesPerSecond", downloads?.rate ?? 0)
    writer.key("transfers")
    writer.array { writer in
      for transfer in downloads?.transfers ?? [] {
        writer.object { writer in
          writer.member("fileName", transfer.fileName)
          writer.member("link", transfer.link)
          writer.member("bytes", transfer.bytes)
          writer.member("total", transfer.total)
          writer.member("held", transfer.isHeld)
        }
      }
    }
  }
}
