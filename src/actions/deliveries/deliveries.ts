/** Deliveries: one event for one subscriber each. */
export { type DeliveryRow, findDelivery, listDeliveries } from '../../postgres/deliveries/delivery-list.ts';
