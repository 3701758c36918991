// Compares the ledger's paths with the files there.
extension Check {
  func checkObjects(_ ledger: Ledger, _ store: Store) {
    var owned: Set<String> = []
    var waiting: Set<String> = []
    for attachment in ledger.attachments {
      guard let url = attachment.url else { continue }
      owned.insert(url)
      let place = "store/" + url
      if let object = store.objects[url] {
        if object.size != attachment.size {
          found(
            .objectAltered, place, "it has \(object.size) bytes, and \(attachment.size ?? 0) are on record")
        } else if object.sha256 != attachment.sha256 {
          found(
            .objectAltered, place,
            "its SHA-256 is \(object.sha256), and \(attachment.sha256 ?? "none") is on record")
        }
      } else if !options.isDrained, let object = store.incoming[attachment.id],
        object.sha256 == attachment.sha256
      {
        // On record; the next run will move it to its path.
        waiting.insert(attachment.id)
      } else {
        found(.objectMissing, place, "\(attachment.name) is to be here, and nothing is")
      }
    }
    // What is kept of an earlier attempt, and what stages have left beside.
    owned.formUnion(ledger.attachments.compactMap(\.kept))
    owned.formUnion(ledger.derived.map(\.url))
    // Until the backlog is drained, one that no attachment has any more may be about to be deleted.
    if !options.isDrained { owned.formUnion(ledger.names.filter { $0.value == 0 }.keys) }
    for path in store.objects.keys.sorted() where !owned.contains(path) {
      found(.orphan, "store/" + path, "no attachment has this place")
    }
    for path in store.strange.sorted() {
      found(.objectStrange, "store/" + path, "it is neither file nor folder")
    }
    let queued = Set(ledger.attachments.filter { !$0.hasEnded }.map(\.id))
    for name in store.incoming.keys.sorted() where !waiting.contains(name) {
      let id = String(name.prefix { $0 != "~" })
      // Until the backlog is drained, it may belong to an interrupted attempt.
      if !options.isDrained && (queued.contains(id) || ledger.attachments.contains { $0.id == id }) {
        continue
      }
      found(.leftover, "store/\(Store.incomingFolder)/\(name)", "nobody is going to give it a path")
    }
    for entry in seen["object"] ?? [] {
      let path = entry["path"] as? String ?? ""
      let sha256 = entry["sha256"] as? String
      if store.objects[path]?.sha256 != sha256 {
        found(
          .objectGone, "store/" + path,
          "it was seen with SHA-256 \(sha256 ?? "none"), and \(store.objects[path]?.sha256 ?? "nothing") is there"
        )
      }
    }
  }
}
