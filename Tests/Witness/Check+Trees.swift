import Foundation

// Checks what stages have left beside contents, and what they have taken out of them.
extension Check {
  /// Compares the rows of derived objects with the store, and the counts of paths with what has them.
  func checkDerived(_ ledger: Ledger, _ store: Store) {
    let rows = Dictionary(ledger.attachments.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
    let waiting = Set(ledger.expansions.filter(\.waits).map(\.attachment))
    var uses: [String: Int64] = [:]
    for path in ledger.attachments.flatMap({ [$0.url, $0.kept].compactMap(\.self) })
      + ledger.derived.map(\.url)
    {
      uses[path, default: 0] += 1
    }
    for object in ledger.derived {
      guard let attachment = rows[object.attachment] else { continue }  // reported by the foreign key check
      let place = "store/" + object.url
      if attachment.status != "completed" && !waiting.contains(attachment.key) {
        found(
          .derivedAstray, attachment.name,
          "it is \(attachment.status), and has the object '\(object.name)' beside it")
      }
      let staged = options.isDrained ? nil : store.incoming[attachment.id + "~" + object.name]
      guard let file = store.objects[object.url] ?? staged else {
        found(.derivedMissing, place, "'\(object.name)' of \(attachment.name) is to be here, and nothing is")
        continue
      }
      if file.size != object.size || file.sha256 != object.sha256 {
        found(
          .derivedAltered, place,
          "it has \(file.size) bytes with SHA-256 \(file.sha256); on record: \(object.size), \(object.sha256)"
        )
      }
    }
    for path in Set(uses.keys).union(ledger.names.keys).sorted() {
      let (real, counted) = (uses[path] ?? 0, ledger.names[path])
      // Until the backlog is drained, what is no longer used may be about to be deleted.
      if real == 0 && counted == 0 && !options.isDrained { continue }
      if real == 0 || counted != real {
        found(.nameCount, "store/" + path, "it counts \(counted ?? 0), and \(real) have it")
      }
    }
  }

  // MARK: Trees

  func checkTrees(_ ledger: Ledger) {
    let rows = Dictionary(ledger.attachments.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
    let children = Dictionary(grouping: ledger.attachments.filter { $0.parent != nil }) { $0.parent ?? 0 }
    for child in ledger.attachments {
      guard let key = child.parent else { continue }
      guard let parent = rows[key] else {
        found(.childAstray, child.name, "its parent \(key) is not on record")
        continue
      }
      if parent.key >= child.key || parent.conversation != child.conversation
        || parent.message != child.message
      {
        found(
          .childAstray, child.name,
          "it is of message \(child.message) in \(child.conversation), and its parent \(parent.id) of \(parent.message)"
            + " in \(parent.conversation)")
      }
    }
    for (key, children) in children.sorted(by: { $0.key < $1.key }) {
      if let parent = rows[key] { checkEnd(of: parent, children, ledger) }
    }
    checkCounts(ledger, rows, children)
    checkOffers(ledger, children)
  }

  /// What waits for its children says so in its metadata: it ends after them, and counts them.
  private func checkEnd(of parent: Ledger.Attachment, _ children: [Ledger.Attachment], _ ledger: Ledger) {
    guard parent.status == "completed",
      let metadata = Self.object(parent.metadata), let count = metadata["children.count"] as? Int
    else { return }
    for child in children {
      if let ended = child.finished, let finished = parent.finished, ended <= finished { continue }
      found(.parentEarly, parent.name, "it is completed, and its child \(child.id) is \(child.status) later")
    }
    if ledger.hasDeleted { return }
    var real = Dictionary(grouping: children, by: \.status).mapValues(\.count)
    real["count"] = children.count
    for state in Set(real.keys).union(["count", "completed", "rejected", "failed", "quarantined"]).sorted() {
      let told = state == "count" ? count : metadata["children." + state] as? Int ?? 0
      if told != real[state] ?? 0 {
        found(
          .childrenCount, parent.name, "its children.\(state) is \(told), and they are \(real[state] ?? 0)")
      }
    }
  }

  /// Compares what is counted of trees with their rows, and their size with what is allowed.
  private func checkCounts(
    _ ledger: Ledger, _ rows: [Int64: Ledger.Attachment], _ children: [Int64: [Ledger.Attachment]]
  ) {
    let expansions = Dictionary(
      ledger.expansions.map { ($0.attachment, $0) }, uniquingKeysWith: { first, _ in first })
    for root in ledger.attachments where root.parent == nil && children[root.key] != nil {
      var (level, depth, below): ([Ledger.Attachment], Int64, [Ledger.Attachment]) = ([root], 0, [])
      while depth < 1000 {
        level = level.flatMap { children[$0.key] ?? [] }
        if level.isEmpty { break }
        depth += 1
        below += level
      }
      let bytes = below.reduce(0) { $0 + $1.sourceSize }
      let limits = [
        ("levels", depth, options.depth), ("contents", Int64(below.count), options.contents),
        ("bytes", bytes, options.bytes),
      ]
      for (name, real, limit) in limits {
        guard let limit, real > limit else { continue }
        found(.treeTooLarge, root.name, "\(real) \(name) came out of it, and \(limit) are allowed")
      }
      if ledger.hasDeleted { continue }
      let counted = expansions[root.key].map { ($0.contents, $0.bytes) } ?? (0, 0)
      if counted != (Int64(below.count), bytes) {
        found(
          .treeCount, root.name,
          "it counts \(counted.0) contents with \(counted.1) bytes, and there are \(below.count) with \(bytes)"
        )
      }
    }
    for expansion in ledger.expansions where expansion.waits {
      let open = children[expansion.attachment]?.count { !$0.hasEnded } ?? 0
      let job = ledger.jobs.first { $0.attachment == expansion.attachment }
      if expansion.open != open || rows[expansion.attachment]?.hasEnded != false
        || (job?.state == "expanded") != (open > 0)
      {
        found(
          .treeCount, rows[expansion.attachment]?.name ?? "attachment \(expansion.attachment)",
          "it waits for \(expansion.open) of \(open) children, and its job is \(job?.state ?? "gone")")
      }
    }
  }

  /// Compares what has come out of the contents that were offered with what was to: names from the root's child on, joined by `/`.
  private func checkOffers(_ ledger: Ledger, _ children: [Int64: [Ledger.Attachment]]) {
    var trees: [String: [String]] = [:]
    for offer in told["offer"] ?? [] {
      if let tree = offer["tree"] as? [String] { trees[offer["source"] as? String ?? ""] = tree }
    }
    for root in ledger.attachments where root.parent == nil && root.status == "completed" {
      guard let tree = trees[root.source] else { continue }
      var real: [String: Int] = [:]
      var below = [("", root)]
      while let (path, parent) = below.popLast(), real.count < 1_000_000 {
        for child in children[parent.key] ?? [] {
          let path = path.isEmpty ? child.fileName : path + "/" + child.fileName
          real[path, default: 0] += 1
          below.append((path, child))
        }
      }
      var wanted: [String: Int] = [:]
      for path in tree { wanted[path, default: 0] += 1 }
      for path in Set(real.keys).union(wanted.keys).sorted() {
        let (there, right) = (real[path] ?? 0, wanted[path] ?? 0)
        if there < right {
          found(.childLost, root.name, "'\(path)' came out of it \(there) times, and \(right) were in it")
        }
        if there > right {
          found(
            right == 0 ? .childUninvited : .childDoubled, root.name,
            "'\(path)' came out of it \(there) times, and \(right) were in it")
        }
      }
    }
  }

  // MARK: Files of contents that are not objects yet

  func checkContents(_ ledger: Ledger) throws {
    let rows = Dictionary(ledger.attachments.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    for child in ledger.attachments where child.parent != nil && !child.hasEnded && child.kept == nil {
      var facts = stat()
      if stat(child.source, &facts) != 0 || Int64(facts.st_size) != child.sourceSize {
        found(
          .contentMissing, child.name, "its content of \(child.sourceSize) bytes is not at \(child.source)")
      }
    }
    guard options.isDrained else { return }
    let folder = options.home + "/uploads"
    guard FileManager.default.fileExists(atPath: folder) else { return }
    for name in try FileManager.default.contentsOfDirectory(atPath: folder).sorted() {
      let attachment = (ledger.uploads[name] ?? nil).flatMap { rows[$0] }
      if ledger.uploads[name] == nil || attachment?.status == "completed" {
        found(
          .contentLeft, "uploads/" + name,
          attachment.map { "it is of \($0.name), which is completed" } ?? "it is of nothing on record")
      }
    }
  }
}
