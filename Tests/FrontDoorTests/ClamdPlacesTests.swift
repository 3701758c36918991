import Platform
import Testing

@testable import FrontDoor

/// Who is next of those that wait for a place at a clamd door.
struct ClamdPlacesTests {
  @Test func oneAloneHasItsPlacesInItsOrderAndLeavesTheRestToOthers() {
    var places = ClamdPlaces(most: 5, mostOfPeer: 4)
    for serial in 1...6 as ClosedRange<UInt64> { places.wait(serial, of: "a") }
    #expect((0..<5).map { _ in places.next() } == [1, 2, 3, 4, nil])
    places.leave(2)
    #expect(places.next() == 5 && places.next() == nil)
    places.wait(7, of: "b")
    #expect(places.next() == 7)
  }

  @Test func oneThatHasManyWaitsForThoseThatHaveFew() {
    var places = ClamdPlaces(most: 4, mostOfPeer: 3)
    for serial in 1...10 as ClosedRange<UInt64> { places.wait(serial, of: "a") }
    #expect((0..<4).map { _ in places.next() } == [1, 2, 3, nil])
    for serial in 11...12 as ClosedRange<UInt64> { places.wait(serial, of: "b") }
    #expect(places.next() == 11 && places.next() == nil)
    // It has two, as many as the other would have.
    places.leave(1)
    #expect(places.next() == 12)
    places.leave(2)
    #expect(places.next() == 4)
    places.leave(11)
    #expect(places.next() == 5)
    places.leave(12)
    #expect(places.next() == nil, "it has three")
  }

  @Test func oneThatHasManyLeavesPlacesFree() {
    var places = ClamdPlaces(most: 5, mostOfPeer: 3)
    places.wait(1, of: "b")
    #expect(places.next() == 1)
    for serial in 2...9 as ClosedRange<UInt64> { places.wait(serial, of: "a") }
    #expect((0..<4).map { _ in places.next() } == [2, 3, 4, nil])
    places.wait(10, of: "b")
    #expect(places.next() == 10)
  }

  /// Against a model that looks at all of them.
  @Test func atRandomNoneIsForgottenAndNoPlaceIsLost() {
    var random = SplitMix(state: 5)
    for _ in 0..<50 {
      let (most, ofPeer) = (Int.random(in: 1...8, using: &random), Int.random(in: 1...8, using: &random))
      var places = ClamdPlaces(most: most, mostOfPeer: ofPeer)
      var all: [UInt64: (peer: Int, has: Bool)] = [:]
      for serial in 1...5000 as ClosedRange<UInt64> {
        switch Int.random(in: 0..<3, using: &random) {
        case 0:
          let peer = Int.random(in: 0..<4, using: &random)
          places.wait(serial, of: "\(peer)")
          all[serial] = (peer, false)
        case 1:
          guard let gone = all.keys.randomElement(using: &random) else { continue }
          places.leave(gone)
          all[gone] = nil
        default:
          let has = all.values.count(where: \.has)
          func have(_ peer: Int) -> Int { all.values.count { $0.peer == peer && $0.has } }
          let may = all.filter { !$0.value.has && have($0.value.peer) < ofPeer }
          guard let next = places.next() else {
            #expect(has >= most || may.isEmpty)
            continue
          }
          #expect(has < most && may[next] != nil)
          let fewest = may.values.map { have($0.peer) }.min()
          #expect(all[next].map { have($0.peer) } == fewest)
          #expect(may.filter { $0.value.peer == all[next]?.peer }.keys.min() == next, "in its order")
          all[next]?.has = true
        }
      }
      #expect(places.taken == all.values.count(where: \.has))
    }
  }
}
