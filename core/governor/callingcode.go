package governor

// callingCodes is the country calling codes with the least and the most digits of a national number:
// code, least, most. Bounds are those of numbers in use, short service numbers left out.
// Sources: ITU-T E.164 (list of country codes), https://github.com/google/libphonenumber (possible lengths, 2026).
const callingCodes = "1:10-10 7:10-10 20:8-10 27:9-9 30:10-12 31:9-11 32:8-9 33:9-9 34:9-9 36:8-9 39:6-12 40:9-9 41:9-12 43:5-13 44:7-10 45:8-8 46:7-12 47:8-8 48:9-10 49:6-15 51:8-9 52:10-10 53:8-10 54:10-11 55:10-11 56:9-11 57:8-11 58:10-10 60:8-10 61:9-10 62:8-13 63:8-13 64:8-10 65:8-11 66:8-13 81:9-10 82:8-11 84:8-10 86:9-12 90:10-10 91:10-10 92:9-12 93:9-9 94:9-9 95:7-10 98:8-10 " +
	"211:9-9 212:9-9 213:8-9 216:8-8 218:9-9 220:7-9 221:9-9 222:8-8 223:8-8 224:8-9 225:10-10 226:8-8 227:8-8 228:8-8 229:8-10 230:7-10 231:7-9 232:8-8 233:9-9 234:8-11 235:8-8 236:8-8 237:8-9 238:7-7 239:7-7 240:9-9 241:7-8 242:9-9 243:7-10 244:9-9 245:7-9 246:7-7 247:5-6 248:7-7 249:9-9 250:8-9 251:9-9 252:6-9 253:8-8 254:7-10 255:9-9 256:9-9 257:8-8 258:8-9 260:9-9 261:9-9 262:9-9 263:7-10 264:8-9 265:7-9 266:8-8 267:7-10 268:8-9 269:7-7 290:4-5 291:7-7 297:7-7 298:6-6 299:6-6 " +
	"350:8-8 351:9-9 352:5-11 353:7-10 354:7-9 355:6-9 356:8-8 357:8-8 358:5-12 359:7-9 370:8-8 371:8-8 372:7-10 373:8-8 374:8-8 375:9-9 376:6-9 377:8-9 378:8-10 380:9-9 381:7-12 382:8-9 383:8-9 385:8-9 386:8-8 387:8-9 389:8-8 420:9-9 421:9-9 423:7-9 500:5-5 501:7-7 502:8-8 503:8-8 504:8-8 505:8-8 506:8-8 507:7-8 508:6-9 509:8-8 590:9-9 591:8-8 592:7-7 593:8-9 594:9-9 595:8-9 596:9-9 597:6-7 598:7-8 599:7-8 670:7-8 672:6-6 673:7-7 674:7-7 675:7-8 676:5-7 677:5-7 678:5-7 679:7-7 680:7-7 681:6-9 682:5-5 683:4-7 685:5-10 686:5-8 687:6-6 688:5-7 689:6-9 690:4-7 691:7-7 692:7-7 " +
	"800:8-8 808:8-8 850:8-10 852:8-8 853:8-8 855:8-10 856:8-10 870:9-12 878:12-12 880:8-10 881:9-10 882:7-12 883:8-12 886:8-10 888:11-11 960:7-7 961:7-8 962:8-9 963:8-9 964:8-10 965:8-8 966:9-9 967:7-9 968:8-8 970:8-9 971:8-9 972:8-9 973:8-8 974:8-8 975:8-8 976:8-8 977:8-10 979:9-9 992:9-9 993:8-8 994:9-9 995:9-9 996:9-9 998:9-9 "

// codeLengths is callingCodes by the code's number: least and most; zero for numbers that are no code.
var codeLengths = readCallingCodes()

func readCallingCodes() (table [1000][2]uint8) {
	values, at := [3]int{}, 0
	for i := range len(callingCodes) {
		switch b := callingCodes[i]; b {
		case ':', '-':
			at++
		case ' ':
			table[values[0]] = [2]uint8{uint8(values[1]), uint8(values[2])}
			values, at = [3]int{}, 0
		default:
			values[at] = values[at]*10 + int(b-'0')
		}
	}
	return table
}

// callingCode is the length of the calling code at the start of digits and its bounds; 0 if there is none.
func callingCode(digits []byte) (length, least, most int) {
	number := 0
	for i, d := range digits {
		if i == 3 {
			break
		}
		number = number*10 + int(d-'0')
		if number == 0 {
			break
		}
		if bounds := codeLengths[number]; bounds[0] != 0 {
			return i + 1, int(bounds[0]), int(bounds[1])
		}
	}
	return 0, 0, 0
}
