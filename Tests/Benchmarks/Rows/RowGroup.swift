/// Rows measured together.
struct RowGroup: Sendable {
  var name: String
  /// Else on the first disk alone.
  var isOnEveryDisk = false
  /// On the last disk alone: that in memory, where no sync hides what a ledger takes.
  var isOnLastDisk = false
  var run: @Sendable (Settings, Ground, Report) -> Void

  func grounds(_ all: [Ground]) -> ArraySlice<Ground> {
    isOnEveryDisk ? all[...] : isOnLastDisk ? all.suffix(1) : all.prefix(1)
  }

  static let all = [
    RowGroup(name: "ingest", isOnEveryDisk: true, run: IngestRows.run),
    RowGroup(name: "duplicates", isOnEveryDisk: true, run: DuplicateRows.run),
    RowGroup(name: "mailboxes", isOnEveryDisk: true, run: MailboxRows.run),
    RowGroup(name: "peers", isOnEveryDisk: true, run: PeerRows.run),
    RowGroup(name: "downloads", isOnEveryDisk: true, run: DownloadRows.run),
    RowGroup(name: "links", isOnLastDisk: true, run: LinkRows.run),
    RowGroup(name: "hosts", run: DeadHostRows.run),
    RowGroup(name: "capacity", isOnEveryDisk: true, run: CapacityRows.run),
    RowGroup(name: "queue", run: QueueRows.run),
    RowGroup(name: "report", run: ReportRows.run),
    RowGroup(name: "messages", run: MessageRows.run),
    RowGroup(name: "verbs", run: VerbRows.run),
    RowGroup(name: "deliveries", run: DeliveryRows.run),
    RowGroup(name: "latency", run: LatencyRows.run),
    RowGroup(name: "fairness", run: FairnessRows.run),
    RowGroup(name: "scaling", run: ScalingRows.run),
    RowGroup(name: "serve", run: ServeRows.run),
  ]
}
