/// The contents of clamd's clients that come or are judged, of which there are few at once, and those that wait for a place. A value
/// without a clock.
///
/// Who has fewest places is next; so one client that has many contents holds up others no longer than one of its own takes.
struct ClamdPlaces {
  let most: Int
  /// Of one peer; the rest is for those who come later.
  let mostOfPeer: Int

  private struct Peer {
    /// Serials, in order; some may have left.
    var waiting: [UInt64] = []
    /// Of `waiting`, those before are done with.
    var first = 0
    /// How many wait, and how many have a place.
    var (waits, has) = (0, 0)
  }

  private enum Standing: Equatable { case waits, has }

  private var peers: [String: Peer] = [:]
  private var standings: [UInt64: (peer: String, standing: Standing)] = [:]
  private(set) var taken = 0

  init(most: Int, mostOfPeer: Int) { (self.most, self.mostOfPeer) = (most, mostOfPeer) }

  /// Whether it waits or has a place.
  func has(_ serial: UInt64) -> Bool { standings[serial] != nil }

  /// A content waits. Its serial is none that there is.
  mutating func wait(_ serial: UInt64, of peer: String) {
    peers[peer, default: Peer()].waiting.append(serial)
    peers[peer]?.waits += 1
    standings[serial] = (peer, .waits)
  }

  /// Gives the next a place; `nil`: none is free, or none waits.
  mutating func next() -> UInt64? {
    if taken >= most { return nil }
    let waiting = peers.filter { $0.value.waits > 0 && $0.value.has < mostOfPeer }
    guard
      let name = waiting.min(by: { ($0.value.has, first($0.value)) < ($1.value.has, first($1.value)) })?.key
    else { return nil }
    while let serial = takeFirst(of: name) {
      guard let standing = standings[serial], standing.standing == .waits else { continue }
      standings[serial] = (name, .has)
      peers[name]?.waits -= 1
      peers[name]?.has += 1
      taken += 1
      return serial
    }
    return nil
  }

  private func first(_ peer: Peer) -> UInt64 {
    peer.first < peer.waiting.count ? peer.waiting[peer.first] : .max
  }

  private mutating func takeFirst(of name: String) -> UInt64? {
    guard var peer = peers[name], peer.first < peer.waiting.count else { return nil }
    let serial = peer.waiting[peer.first]
    peer.first += 1
    if peer.first >= 1000 && peer.first * 2 >= peer.waiting.count {
      peer.waiting.removeFirst(peer.first)
      peer.first = 0
    }
    peers[name] = peer
    return serial
  }

  /// It has left, or has its answer. Once for each.
  mutating func leave(_ serial: UInt64) {
    guard let (name, standing) = standings.removeValue(forKey: serial), var peer = peers[name] else { return }
    if standing == .has {
      peer.has -= 1
      taken -= 1
    } else {
      peer.waits -= 1
      // Those that have left are not kept for ever.
      if peer.waiting.count - peer.first > 2 * peer.waits + 1000 {
        peer.waiting = peer.waiting[peer.first...].filter { standings[$0]?.standing == .waits }
        peer.first = 0
      }
    }
    peers[name] = peer.waits == 0 && peer.has == 0 ? nil : peer
  }
}
