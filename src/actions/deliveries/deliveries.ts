/** Deliveries: one event for one subscriber each. */
export { bodyOfDelivery, latestAttempts } from '../../postgres/deliveries/attempts-list.ts';
export { type DeliveryRow, findDelivery, listDeliveries } from '../../postgres/deliveries/delivery-list.ts';
