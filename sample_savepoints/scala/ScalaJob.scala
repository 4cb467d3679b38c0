package shop

import java.util.concurrent.atomic.AtomicInteger

import scala.util.{Success, Try}

import org.apache.flink.api.common.state.{
  ListState, ListStateDescriptor, MapState, MapStateDescriptor, ValueState, ValueStateDescriptor
}
import org.apache.flink.api.common.typeinfo.TypeInformation
import org.apache.flink.configuration.Configuration
import org.apache.flink.core.execution.SavepointFormatType
import org.apache.flink.streaming.api.functions.KeyedProcessFunction
import org.apache.flink.streaming.api.functions.source.SourceFunction
import org.apache.flink.streaming.api.scala._
import org.apache.flink.util.Collector

object Kind extends Enumeration {
  val Retail, Trade = Value
}

case object Quiet

case class Customer(region: String, id: Int)

case class Order(id: Long, customer: Customer, note: Option[String], tags: List[String])

/** Orders with numbers from 0, of three customers; it goes on without new ones. */
class Orders(count: Int) extends SourceFunction[Order] {
  @volatile private var isRunning = true

  override def run(context: SourceFunction.SourceContext[Order]): Unit = {
    for (id <- 0 until count) {
      val customer = Customer(if (id % 3 == 0) "eu" else "us", id % 3)
      val note = if (id % 2 == 0) Some(s"note $id") else None
      context.collect(Order(id, customer, note, List.tabulate(id % 4)(number => s"t$number")))
    }
    while (isRunning) Thread.sleep(20)
  }

  override def cancel(): Unit = isRunning = false
}

/** Every kind of state, and every serializer of Flink's API for Scala that a case class has. */
class ByRegion extends KeyedProcessFunction[String, Order, String] {
  private def value[T: TypeInformation](name: String): ValueState[T] =
    getRuntimeContext.getState(new ValueStateDescriptor(name, implicitly[TypeInformation[T]]))

  private lazy val last = value[Order]("last")
  private lazy val pair = value[(String, Int)]("pair")
  private lazy val side = value[Either[String, Int]]("side")
  private lazy val counts = value[Map[String, Int]]("counts")
  private lazy val kind = value[Kind.Value]("kind")
  private lazy val outcome = value[Try[Int]]("outcome")
  private lazy val visited = value[Unit]("visited")
  private lazy val checked = value[Option[Unit]]("checked")
  private lazy val paid = value[Either[String, Unit]]("paid")
  private lazy val anything = value("anything")(TypeInformation.of(classOf[AnyRef]))
  private lazy val seen: MapState[Long, Unit] = getRuntimeContext.getMapState(
    new MapStateDescriptor(
      "seen", implicitly[TypeInformation[Long]], implicitly[TypeInformation[Unit]]))
  private lazy val orders: ListState[Order] = getRuntimeContext.getListState(
    new ListStateDescriptor("orders", implicitly[TypeInformation[Order]]))
  private lazy val notes: MapState[Long, Option[String]] = getRuntimeContext.getMapState(
    new MapStateDescriptor(
      "notes", implicitly[TypeInformation[Long]], implicitly[TypeInformation[Option[String]]]))

  override def processElement(
      order: Order,
      context: KeyedProcessFunction[String, Order, String]#Context,
      out: Collector[String]): Unit = {
    val id = order.id.toInt
    last.update(order)
    pair.update((order.customer.region, id))
    side.update(if (id % 2 == 0) Right(id) else Left(s"odd $id"))
    val old = Option(counts.value()).getOrElse(Map.empty[String, Int])
    counts.update(old.updated(s"c${order.customer.id}", old.getOrElse(s"c${order.customer.id}", 0) + 1))
    kind.update(if (id % 3 == 0) Kind.Trade else Kind.Retail)
    outcome.update(Success(id))
    visited.update(())
    checked.update(if (order.customer.region == "eu") Some(()) else None)
    paid.update(if (order.customer.region == "eu") Right(()) else Left("late"))
    anything.update(if (order.customer.region == "eu") ().asInstanceOf[AnyRef] else Quiet)
    seen.put(order.id, ())
    orders.add(order)
    notes.put(order.id, order.note)
    ScalaJob.done.incrementAndGet()
  }
}

/** A case class as key. */
class ByCustomer extends KeyedProcessFunction[Customer, Order, String] {
  private lazy val total: ValueState[Long] = getRuntimeContext.getState(
    new ValueStateDescriptor("total", implicitly[TypeInformation[Long]]))

  override def processElement(
      order: Order,
      context: KeyedProcessFunction[Customer, Order, String]#Context,
      out: Collector[String]): Unit = {
    total.update(total.value() + order.id)
    ScalaJob.done.incrementAndGet()
  }
}

/** Takes a canonical savepoint below a folder, and prints where. */
object ScalaJob {
  val done = new AtomicInteger
  private val Count = 12

  def main(arguments: Array[String]): Unit = {
    val env = StreamExecutionEnvironment.createLocalEnvironment(2, new Configuration)
    env.setMaxParallelism(128)
    val orders = env.addSource(new Orders(Count)).uid("source")
    orders.keyBy(_.customer.region).process(new ByRegion).uid("by_region").print()
    orders.keyBy(_.customer).process(new ByCustomer).uid("by_customer").print()
    val client = env.executeAsync("orders in Scala")
    val result = client.getJobExecutionResult
    while (done.get < 2 * Count) {
      if (result.isDone) result.get() // throws what the job failed with
      Thread.sleep(50)
    }
    println(client.triggerSavepoint(arguments(0), SavepointFormatType.CANONICAL).get())
    client.cancel().get()
    System.exit(0)
  }
}
